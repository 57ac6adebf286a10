// SPDX-License-Identifier: MIT

package scheduler

import (
	"context"
	"errors"
)

// call is a control call: what a client asks of a live answer. Its parts run one after the other.
type call struct {
	check func(*Scheduler, *job) error // on the tick: whether it may be done; errNotYet: the answer waits with it for the next one
	work  func(*job) error             // where the stages may be called, however slow they are; nil: nothing is left to do
	drop  func()                       // instead of work, where that will not be done; may be nil
}

// errNotYet is a check's way to be tried again in the next tick.
var errNotYet = errors.New("not yet")

// control has a call done and returns its error, ErrEnded for an ended stream, or the context's. While the stages are at
// work on their own goroutine it waits for them.
func (st *Stream) control(ctx context.Context, c call) error {
	answer := make(chan error, 1)
	j := st.job
	refuse := func(err error) {
		if c.drop != nil {
			c.drop()
		}
		select {
		case answer <- err:
		default: // it had an answer before a panic
		}
	}
	waits := false
	var try func(s *Scheduler)
	try = func(s *Scheduler) {
		if waits {
			waits = false
			j.awaited--
		}
		if j.done {
			refuse(ErrEnded)
			return
		}
		if j.crew.late() {
			j.deferred = append(j.deferred, try)
			return
		}
		defer func() {
			if v := recover(); v != nil {
				err := Recovered(v)
				refuse(err)
				s.abandon(j, err)
			}
		}()
		switch err := c.check(s, j); {
		case errors.Is(err, errNotYet):
			waits = true
			j.awaited++
			s.retries = append(s.retries, try)
		case err != nil:
			refuse(err)
		default:
			s.steer(j, c.work, func(err error) { answer <- err })
		}
	}
	if !st.scheduler.inbox.post(try) {
		refuse(ErrEnded)
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// steer has the work of a control call done: at once where that is quick, else on the job's own goroutine. The job then
// sits out meanwhile, like one whose row is late.
func (s *Scheduler) steer(j *job, work func(*job) error, reply func(error)) {
	c := j.crew
	switch {
	case work == nil:
		reply(nil)
	case c == nil:
		err := guarded(func() error { return work(j) })
		if p := (*Panic)(nil); errors.As(err, &p) {
			j.fail(err)
		}
		s.settle(j)
		reply(err)
	default:
		c.busy, c.prepared = true, false // what was prepared is of the answer as it was
		c.task, c.reply = work, reply
		s.late = append(s.late, j)
		c.orders <- orderTask
	}
}
