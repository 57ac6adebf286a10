// SPDX-License-Identifier: MIT

package scheduler

import "time"

// Tick does one round: it listens to others, schedules (admit.go, plan.go), and runs what was
// scheduled in forward passes (pass.go), each of which ends with sampling (sample.go) and sending
// (emit.go). busy means that there is more to do in the next tick, even without a call: a pass ran,
// or something goes on from tick to tick (alarm.go).
//
// Run calls it in a loop; tests call it themselves, from one goroutine.
func (s *Scheduler) Tick() (busy bool) {
	s.planned, s.prefilling, s.reserved, s.again = s.planned[:0], s.prefilling[:0], 0, again{} // before survive asks for the plan
	defer s.survive(&busy)
	lastPasses := s.record.Forward
	s.record = TickRecord{}
	now := s.listen()
	if s.lost {
		s.dropSlotActions()
		s.publish()
		return false
	}
	s.sweepPieces()
	s.schedule(now, lastPasses)
	s.runPlan(now)
	s.publish()
	return s.again.busy
}

// publish has Stats tell what this tick has left.
func (s *Scheduler) publish() {
	s.statsMu.Lock()
	defer s.statsMu.Unlock()
	s.stats = Stats{Running: len(s.running), Waiting: len(s.queue.jobs), CellsUsed: s.limits.Cells - s.cache.Free(), Cells: s.limits.Cells}
}

// listen takes in what background samplers have done and what other goroutines ask for, and ends
// what is too late. It returns the time of this tick: nobody was submitted after it who is known.
func (s *Scheduler) listen() (now time.Time) {
	s.collectAwaited()
	s.takeCommands()
	s.takeOverPrograms()
	now = s.config.Clock()
	s.record.Start = now
	s.tellBranches(now)
	s.expire(now)
	return now
}

// schedule gives free slots to queued jobs and chooses what each slot computes. Copies of the KV
// cache may take a part of the time that the last passes took.
func (s *Scheduler) schedule(now time.Time, lastPasses time.Duration) {
	s.cache.BeginTick(s.copyTime(lastPasses))
	s.actOnSlots()
	s.admit(now)
	s.order = append(s.order[:0], s.running...) // preempting changes s.running
	s.placeBranches()
	if !s.awaitsCopy {
		s.cache.SaveAhead()
	}
	s.plan()
}

// runPlan computes what was scheduled. Programs that the pass has answered have mostly gone on
// meanwhile: what they show is sent now and not only after the next tick's sleep, and their
// branches count in this tick's record.
func (s *Scheduler) runPlan(now time.Time) {
	if len(s.planned) > 0 {
		s.keepTicking(now)
		s.computeInTurn()
		s.takeOverPrograms()
		s.observe()
	} else if at, due := s.cache.Next(); due {
		s.keepTicking(at)
	}
}

// computeInTurn computes when it is this scheduler's turn, while others on the same processors
// pause. A drafter may be a model, too.
func (s *Scheduler) computeInTurn() {
	s.share.take()
	defer s.share.give()
	if s.config.Others != nil {
		s.config.Others.Pause()
		defer s.config.Others.Resume()
	}
	s.speculate()
	s.compute()
	s.chargeDrafts()
}

// takeCommands runs what other goroutines posted: submissions, cancellations, control calls.
func (s *Scheduler) takeCommands() {
	commands := s.inbox.swap(s.commands)
	for i, command := range commands {
		s.attempt(func() { command(s) })
		commands[i] = nil
	}
	s.commands = commands
	s.tryCalls()
}
