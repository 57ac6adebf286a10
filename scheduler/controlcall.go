// SPDX-License-Identifier: MIT

package scheduler

import (
	"context"
	"errors"
	"slices"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/panics"
)

// call is a control call: what a client asks of a live answer (control.go). Its parts run one
// after the other.
type call struct {
	check func(*Scheduler, *job) error // on the tick: whether it may be done; errNotYet: not until the reader has made room
	work  func(*answer.Answer) error   // on the background sampler if there is one: it may call slow stages; nil: nothing is left to do
	drop  func()                       // instead of work, if that will not be done; may be nil
}

// errNotYet is a check's way to be tried again in the next tick.
var errNotYet = errors.New("not yet")

// pendingCall is a control call whose caller waits. It is in the list of its job until it is done
// or refused. The code that takes it out of the list tells the caller.
type pendingCall struct {
	call
	ctx    context.Context
	result chan error // takes one
}

// calls are the control calls of one answer that are not done yet.
type calls struct {
	waiting []*pendingCall // for the background sampler or the reader, in the order they came
	atWork  *pendingCall   // whose work the background sampler does; nil: none
}

// control has a call done and returns its error, ErrEnded for an ended stream, or the context's.
// While the background sampler is busy it waits for that.
func (st *Stream) control(ctx context.Context, c call) error {
	p := &pendingCall{call: c, ctx: ctx, result: make(chan error, 1)}
	if !st.scheduler.inbox.post(func(s *Scheduler) { s.enlist(st.job, p) }) {
		p.refuse(ErrEnded)
	}
	select {
	case err := <-p.result:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// enlist puts a call behind those of its job that wait, for the tick to try.
func (s *Scheduler) enlist(j *job, p *pendingCall) {
	if j.done {
		p.refuse(ErrEnded)
		return
	}
	if len(j.calls.waiting) == 0 {
		s.calling = append(s.calling, j)
	}
	j.calls.waiting = append(j.calls.waiting, p)
}

// tryCalls tries the control calls that wait.
func (s *Scheduler) tryCalls() {
	s.calling = slices.DeleteFunc(s.calling, func(j *job) bool {
		s.tryCallsOf(j)
		return len(j.calls.waiting) == 0
	})
}

// tryCallsOf tries those of one job: each that can be done now is, until one gives the background
// sampler something to do.
func (s *Scheduler) tryCallsOf(j *job) {
	waiting := j.calls.waiting
	j.calls.waiting = waiting[:0]
	for _, p := range waiting {
		switch {
		case j.done:
			p.refuse(ErrEnded) // one before it has ended the answer
		case j.background.Busy() || s.try(j, p):
			j.calls.waiting = append(j.calls.waiting, p)
		}
	}
}

// try does a call, refuses it, or tells that it has to wait.
func (s *Scheduler) try(j *job, p *pendingCall) (waits bool) {
	if err := p.ctx.Err(); err != nil {
		p.refuse(err) // its caller has gone
		return false
	}
	defer func() {
		if v := recover(); v != nil {
			err := panics.Recovered(v)
			p.refuse(err)
			s.abandon(j, err)
		}
	}()
	err := p.check(s, j)
	switch {
	case errors.Is(err, errNotYet):
		return true
	case err != nil:
		p.refuse(err)
	default:
		s.perform(j, p)
	}
	return false
}

// tell answers the caller unless it was answered before something panicked.
func (p *pendingCall) tell(err error) {
	if p.result != nil {
		answerOnce(p.result, err)
	}
}

// refuse tells the caller why the call will not be done.
func (p *pendingCall) refuse(err error) {
	if p.drop != nil {
		p.drop()
	}
	p.tell(err)
}

// perform has the work of a control call done: at once if that is quick, else by the background
// sampler, which an answer with a grammar gets now if it has none: a grammar may take long for many
// tokens. The job skips ticks meanwhile, like one whose token is late.
func (s *Scheduler) perform(j *job, p *pendingCall) {
	if p.work != nil && j.started && chain.Guarded(j.chain.Stages()) {
		s.giveBackground(&j.drawer, true)
	}
	switch {
	case p.work == nil:
		p.tell(nil)
	case j.background == nil:
		err := panics.Try(func() error { return p.work(j.answer) })
		if p := (*panics.Error)(nil); errors.As(err, &p) {
			j.answer.Fail(err)
		}
		s.emitOne(j)
		p.tell(err)
	default:
		j.calls.atWork = p
		s.awaited = append(s.awaited, &j.drawer)
		j.background.Do(func() error { return p.work(j.answer) }, p.drop)
	}
}

// refuseCalls tells the callers of all calls of a job that has ended. What the background sampler
// is at comes too late; it ends or drops it.
func (j *job) refuseCalls() {
	waiting, atWork := j.calls.waiting, j.calls.atWork
	j.calls = calls{}
	for _, p := range waiting {
		p.refuse(ErrEnded)
	}
	if atWork != nil {
		atWork.tell(ErrEnded)
	}
}
