// SPDX-License-Identifier: MIT

package scheduler

import (
	"context"
	"time"

	"github.com/penstock/penstock/scheduler/answer"
)

// sleep waits for a command, the next alarm, or the end.
func (s *Scheduler) sleep(ctx context.Context) {
	var alarm <-chan time.Time
	if at, ok := s.nextAlarm(); ok {
		timer := time.NewTimer(at.Sub(s.config.Clock()))
		defer timer.Stop()
		alarm = timer.C
	}
	select {
	case <-ctx.Done():
	case <-s.inbox.wake:
	case <-alarm:
	}
}

// nextAlarm is the next moment at which time alone changes something: a deadline, the end of a worker's rest, or the next
// look at a copy.
func (s *Scheduler) nextAlarm() (at time.Time, ok bool) {
	at, ok = s.nextDeadline()
	if look, due := s.cache.Next(); due && (!ok || look.Before(at)) {
		at, ok = look, true
	}
	for _, jobs := range [2][]*job{s.running, s.queue.jobs} { // one that rests may have been preempted
		for _, j := range jobs {
			if !j.worker.Resting() {
				continue
			}
			if rested := s.config.Clock().Add(time.Until(j.worker.RestUntil)); !ok || rested.Before(at) {
				at, ok = rested, true
			}
		}
	}
	return at, ok
}

// nextDeadline is the earliest deadline of all jobs.
func (s *Scheduler) nextDeadline() (at time.Time, ok bool) {
	for _, jobs := range [2][]*job{s.running, s.queue.jobs} {
		for _, j := range jobs {
			if d := j.req.Deadline; !d.IsZero() && (!ok || d.Before(at)) {
				at, ok = d, true
			}
		}
	}
	return at, ok
}

// expire ends the jobs whose deadline has passed.
func (s *Scheduler) expire(now time.Time) {
	at, ok := s.nextDeadline()
	if !ok || now.Before(at) {
		return
	}
	for _, j := range s.jobs() {
		if d := j.req.Deadline; !d.IsZero() && !now.Before(d) {
			s.end(j, End{Reason: answer.ReasonError, Err: ErrDeadline})
		}
	}
}
