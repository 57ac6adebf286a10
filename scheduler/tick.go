// SPDX-License-Identifier: MIT

package scheduler

import (
	"context"
	"time"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/kvcache"
)

// Tick does one round: it listens to others, gives slots to requests (admit.go), and when it has
// its turn, plans (plan.go) and runs what was planned in forward passes (pass.go), each of which
// ends with sampling (sample.go) and sending (emit.go). busy means that there is more to do in the
// next tick, even without a call: a pass ran, or something goes on from tick to tick (again).
//
// Run calls it in a loop; tests call it themselves, from one goroutine.
func (s *Scheduler) Tick() (busy bool) {
	s.planned, s.prefilling, s.reserved, s.again = s.planned[:0], s.prefilling[:0], 0, again{} // at once: after a panic, survive reads them
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
	s.fillSlots(now, lastPasses)
	s.takeTurn(now)
	s.publish()
	return s.again.busy
}

// publish has Stats tell what this tick has left.
func (s *Scheduler) publish() {
	s.statsMu.Lock()
	defer s.statsMu.Unlock()
	s.stats = s.gauges()
}

// listen takes in what background samplers have done and what other goroutines ask for, and ends
// what is too late. It returns the time of this tick, which is taken after the commands: every
// request that the tick knows was submitted before it.
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

// fillSlots gives free slots to queued jobs. Copies of the KV cache may take a part of the time
// that the last passes took.
func (s *Scheduler) fillSlots(now time.Time, lastPasses time.Duration) {
	s.cache.BeginTick(s.copyTime(lastPasses))
	s.actOnSlots()
	s.admit(now)
	s.order = append(s.order[:0], s.running...) // preempting changes s.running
	s.placeBranches()
	if !s.awaitsCopy {
		s.cache.SaveAhead()
		s.cache.OfferIdle()
	}
}

// takeTurn plans and computes. Programs that the pass has answered have mostly gone on meanwhile:
// what they show is sent now and not only after the next tick's sleep, and their branches count in
// this tick's record.
func (s *Scheduler) takeTurn(now time.Time) {
	computed := false
	if len(s.order) > 0 {
		computed = s.computeInTurn(now)
	} else {
		s.plan() // of nothing, so it needs no turn: it ends what the last plan waited for (awaitsCopy)
		s.machine.note(work{})
	}
	if computed {
		s.takeOverPrograms()
		s.observe()
	} else if at, due := s.cache.Next(); due {
		s.keepTicking(at)
	}
	if at, due := s.cache.NextOffer(); due {
		s.tickAt(at)
	}
}

// computeInTurn plans and computes when it is this scheduler's turn, while others on the same
// processors pause. It plans no earlier: how much a tick may compute depends on what the others do
// by then. A drafter may be a model, too. It reports whether there was something to compute.
func (s *Scheduler) computeInTurn(now time.Time) (computed bool) {
	s.machine.take()
	defer s.machine.give()
	defer s.noteWork(s.config.Clock())
	s.plan()
	if len(s.planned) == 0 {
		return false
	}
	s.keepTicking(now)
	if s.config.Others != nil {
		s.config.Others.Pause()
		defer s.config.Others.Resume()
	}
	s.speculate()
	s.compute()
	s.chargeDrafts()
	return true
}

// takeCommands runs what other goroutines posted: submissions, cancellations, control calls.
func (s *Scheduler) takeCommands() {
	commands := s.inbox.swap(s.commands)
	for i, command := range commands {
		s.runGuarded(func() { command(s) })
		commands[i] = nil
	}
	s.commands = commands
	s.tryCalls()
}

// again is when the next tick is due though no command comes. Whatever waits for time, or goes on
// from tick to tick, says so in each tick. The second sets busy too, which tells those who call
// Tick themselves to call it again; Run sleeps until the time either way.
type again struct {
	due  bool      // else a command wakes the tick
	at   time.Time // if it is due
	busy bool      // something goes on from tick to tick
}

// tickAt asks for a tick at a time: that alone will change something.
func (s *Scheduler) tickAt(at time.Time) {
	if !s.again.due || at.Before(s.again.at) {
		s.again.due, s.again.at = true, at
	}
}

// keepTicking asks for another tick at a time for something that continues from tick to tick, even
// if calls arrive meanwhile.
func (s *Scheduler) keepTicking(at time.Time) {
	s.again.busy = true
	s.tickAt(at)
}

// sleep waits for a command, for the time at which the last tick asked for another, or for the end.
func (s *Scheduler) sleep(ctx context.Context) {
	var alarm <-chan time.Time
	if s.again.due {
		wait := s.again.at.Sub(s.config.Clock())
		if wait <= 0 {
			return
		}
		timer := time.NewTimer(wait)
		defer timer.Stop()
		alarm = timer.C
	}
	select {
	case <-ctx.Done():
	case <-s.inbox.wake:
	case <-alarm:
	}
}

// expire ends the jobs whose deadline has passed, and asks for a tick at the next one, and when a
// background sampler has rested. Those of the queue count, too: one that rests may have been
// preempted.
func (s *Scheduler) expire(now time.Time) {
	for _, jobs := range [2][]*job{s.running, s.queue.jobs} {
		for _, j := range jobs {
			if rest := j.restTime(); rest > 0 {
				s.tickAt(now.Add(rest))
			}
		}
	}
	due := s.queue.deadline
	if due.IsZero() {
		return
	}
	s.tickAt(due)
	if now.Before(due) {
		return
	}
	jobs := s.jobs()
	s.queue.deadline = time.Time{}
	for _, j := range jobs {
		switch d := j.req.Deadline; {
		case now.Before(d):
			s.queue.note(d)
		case !d.IsZero():
			s.endJob(j, End{Reason: answer.ReasonError, Err: ErrDeadline})
		}
	}
}

// How long a tick copies at most: to or from the archive while answers are generated, what
// requests wait for while none is, and what none waits for.
const (
	longestCopy     = time.Millisecond
	longestIdleCopy = 30 * time.Millisecond
	longestAhead    = 10 * time.Millisecond
)

// copyTime is how long this tick may copy. lastPasses is how long those of the last tick took.
// Copying a prefix saves computing it, so it may take as long as a pass: for a tick or two each
// token takes twice as long.
func (s *Scheduler) copyTime(lastPasses time.Duration) kvcache.CopyTime {
	t := kvcache.CopyTime{Archive: longestIdleCopy, Prefix: longestIdleCopy, Ahead: longestAhead, Here: true}
	if len(s.running) > 0 {
		t.Ahead = longestCopy
	}
	if s.anyGenerates() {
		t.Archive, t.Prefix, t.Here = longestCopy, max(longestCopy, lastPasses), false
	}
	return t
}
