// SPDX-License-Identifier: MIT

package scheduler

import (
	"context"
	"time"

	"github.com/penstock/penstock/scheduler/answer"
)

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
			if rest := j.rest(); rest > 0 {
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
			s.end(j, End{Reason: answer.ReasonError, Err: ErrDeadline})
		}
	}
}
