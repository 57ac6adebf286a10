// SPDX-License-Identifier: MIT

package scheduler

import (
	"context"
	"errors"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/panics"
)

// call is a control call: what a client asks of a live answer. Its parts run one after the other.
type call struct {
	check func(*Scheduler, *job) error // on the tick: whether it may be done; errNotYet: the answer waits with it for the next one
	work  func(*answer.Answer) error   // where the stages may be called, however slow they are; nil: nothing is left to do
	drop  func()                       // instead of work, where that will not be done; may be nil
}

// calls are the control calls of one answer that are not done yet.
type calls struct {
	awaitReader int                // how many will be tried again when the reader has made room
	awaitWorker []func(*Scheduler) // will be tried when the worker is free
	reply       func(error)        // to the call whose work the worker does; nil: it does none's
}

// errNotYet is a check's way to be tried again in the next tick.
var errNotYet = errors.New("not yet")

// control has a call done and returns its error, ErrEnded for an ended stream, or the context's. While the worker is busy
// it waits for that.
func (st *Stream) control(ctx context.Context, c call) error {
	result := make(chan error, 1)
	j := st.job
	refuse := func(err error) {
		if c.drop != nil {
			c.drop()
		}
		select {
		case result <- err:
		default: // there was one before a panic
		}
	}
	waits := false
	var try func(s *Scheduler)
	try = func(s *Scheduler) {
		if waits {
			waits = false
			j.calls.awaitReader--
		}
		if j.done {
			refuse(ErrEnded)
			return
		}
		if j.worker.Busy() {
			j.calls.awaitWorker = append(j.calls.awaitWorker, try)
			return
		}
		defer func() {
			if v := recover(); v != nil {
				err := panics.Recovered(v)
				refuse(err)
				s.abandon(j, err)
			}
		}()
		switch err := c.check(s, j); {
		case errors.Is(err, errNotYet):
			waits = true
			j.calls.awaitReader++
			s.retries = append(s.retries, try)
		case err != nil:
			refuse(err)
		default:
			s.perform(j, c.work, func(err error) { result <- err })
		}
	}
	if !st.scheduler.inbox.post(try) {
		refuse(ErrEnded)
	}
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// perform has the work of a control call done: at once where that is quick, else by the worker. The job then sits out meanwhile, like
// one whose token is late.
func (s *Scheduler) perform(j *job, work func(*answer.Answer) error, reply func(error)) {
	switch {
	case work == nil:
		reply(nil)
	case j.worker == nil:
		err := panics.Try(func() error { return work(j.answer) })
		if p := (*panics.Error)(nil); errors.As(err, &p) {
			j.answer.Fail(err)
		}
		s.emitAlone(j)
		reply(err)
	default:
		j.calls.reply = reply
		s.late = append(s.late, j)
		j.worker.Do(func() error { return work(j.answer) })
	}
}
