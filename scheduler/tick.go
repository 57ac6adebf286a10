// SPDX-License-Identifier: MIT

package scheduler

// Tick does one round: it takes commands, fills free slots (admit.go), plans (plan.go) and computes the plan (pass.go), which ends with
// sampling (sample.go) and sending (emit.go). busy asks for the next tick at once: a pass ran, a copy or saving ahead goes on, an action
// waits whose slot was left or that found a copy unfinished, or this tick admitted nobody because a running job waited for a copy.
//
// Run calls it in a loop; tests call it themselves, from one goroutine.
func (s *Scheduler) Tick() (busy bool) {
	s.planned, s.prefilling = s.planned[:0], s.prefilling[:0]
	defer s.survive(&busy)
	now := s.config.Clock()
	lastPasses := s.record.Forward
	s.record = TickRecord{Start: now}
	s.collectAwaited()
	s.takeCommands()
	if s.lost {
		s.expire(now)
		s.dropSlotActions()
		s.publish()
		return false
	}
	if s.gather() {
		now = s.config.Clock() // what came meanwhile was submitted before it
		s.record.Start = now
	}
	s.expire(now)
	s.cache.BeginTick(s.copyTime(lastPasses))
	s.actOnSlots()
	awaitedCopy := s.awaitsCopy
	s.admit(now)
	if !s.awaitsCopy {
		s.cache.SaveAhead()
	}
	s.plan()
	if len(s.planned) == 0 {
		s.publish()
		return awaitedCopy || !s.cache.Settled() || s.actionsDue && len(s.slotActions) > 0
	}
	s.computeAlone()
	s.chargeDrafts()
	s.observe()
	s.publish()
	return true
}

// computeAlone computes when it is this scheduler's turn, while others on the same processors pause.
func (s *Scheduler) computeAlone() {
	s.share.take()
	defer s.share.give()
	if s.config.Others != nil {
		s.config.Others.Pause()
		defer s.config.Others.Resume()
	}
	s.compute()
}

// takeCommands runs what other goroutines posted: submissions, cancellations, control calls.
func (s *Scheduler) takeCommands() {
	commands := s.inbox.swap(s.commands)
	for i, command := range commands {
		s.attempt(func() { command(s) })
		commands[i] = nil
	}
	s.commands = commands
	retries := s.retries
	s.retries = nil
	for _, retry := range retries {
		s.attempt(func() { retry(s) })
	}
}
