// SPDX-License-Identifier: MIT

package scheduler

import (
	"context"
	"errors"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/panics"
)

// call is a control call: what a client asks of a live answer (control.go). Its parts run one after the other.
type call struct {
	check func(*Scheduler, *job) error // on the tick: whether it may be done; errNotYet: not until the reader has made room
	work  func(*answer.Answer) error   // on the worker if there is one: it may call slow stages; nil: nothing is left to do
	drop  func()                       // instead of work, if that will not be done; may be nil
}

// errNotYet is a check's way to be tried again in the next tick.
var errNotYet = errors.New("not yet")

// calls are the control calls of one answer that are not done yet.
type calls struct {
	awaitReader int                // how many will be tried again when the reader has made room
	awaitWorker []func(*Scheduler) // will be tried when the worker is free
	reply       func(error)        // tells a caller that the worker has done its work; nil: it does none
}

// control has a call done and returns its error, ErrEnded for an ended stream, or the context's. While the worker is busy
// it waits for that.
func (st *Stream) control(ctx context.Context, c call) error {
	p := &pendingCall{call: c, job: st.job, result: make(chan error, 1)}
	if !st.scheduler.inbox.post(p.try) {
		p.refuse(ErrEnded)
	}
	select {
	case err := <-p.result:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pendingCall is a control call whose caller waits.
type pendingCall struct {
	call
	job         *job
	result      chan error
	awaitReader bool
}

// try does the call, or leaves it where it will be tried again.
func (p *pendingCall) try(s *Scheduler) {
	j := p.job
	if p.awaitReader {
		p.awaitReader = false
		j.calls.awaitReader--
	}
	if j.done {
		p.refuse(ErrEnded)
		return
	}
	if j.worker.Busy() {
		j.calls.awaitWorker = append(j.calls.awaitWorker, p.try)
		return
	}
	defer func() {
		if v := recover(); v != nil {
			err := panics.Recovered(v)
			p.refuse(err)
			s.abandon(j, err)
		}
	}()
	switch err := p.check(s, j); {
	case errors.Is(err, errNotYet):
		p.awaitReader = true
		j.calls.awaitReader++
		s.retries = append(s.retries, p.try)
	case err != nil:
		p.refuse(err)
	default:
		s.perform(j, p.work, func(err error) { p.result <- err })
	}
}

func (p *pendingCall) refuse(err error) {
	if p.drop != nil {
		p.drop()
	}
	select {
	case p.result <- err:
	default: // a result was sent before the panic
	}
}

// perform has the work of a control call done: at once if that is quick, else by the worker, which an answer with a grammar gets now if
// it has none: a grammar may take long for many tokens. The job then sits out meanwhile, like one whose token is late.
func (s *Scheduler) perform(j *job, work func(*answer.Answer) error, reply func(error)) {
	if work != nil && j.started && j.worker == nil && chain.Guarded(j.chain.Stages()) {
		s.giveWorker(j, true)
	}
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
		s.awaited = append(s.awaited, j)
		j.worker.Do(func() error { return work(j.answer) })
	}
}
