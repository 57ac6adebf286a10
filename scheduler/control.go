// SPDX-License-Identifier: MIT

package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/panics"
)

// Pause keeps the answer from growing until Resume, with all that a program writes beside it. Its
// slot goes to others that wait for one.
func (st *Stream) Pause(ctx context.Context) error {
	return st.control(ctx, call{check: func(_ *Scheduler, j *job) error { j.main().paused = true; return nil }})
}

// Resume undoes Pause.
func (st *Stream) Resume(ctx context.Context) error {
	return st.control(ctx, call{check: func(_ *Scheduler, j *job) error { j.main().paused = false; return nil }})
}

// SetChain replaces the sampler chain, from the next token on. The plugins of the answer go on in
// it: chain.Keep stands for each of them. The stages belong to the scheduler, whatever it returns.
// ErrBadRequest if a plugin is missing or added.
func (st *Stream) SetChain(ctx context.Context, stages []chain.Stage) error {
	if len(stages) == 0 {
		return fmt.Errorf("%w: the sampler chain is empty", ErrBadRequest)
	}
	return st.control(ctx, call{
		check: func(s *Scheduler, j *job) error {
			if err := j.errProgram("another chain for"); err != nil {
				return err
			}
			if err := j.drawer.chain.CanReplace(stages); err != nil {
				return fmt.Errorf("%w: %w", ErrBadRequest, err)
			}
			if j.started && chain.Guarded(stages) {
				s.giveBackground(&j.drawer, true) // a grammar reads the whole answer first
			}
			return nil
		},
		work: func(a *answer.Answer) error { return a.SetStages(stages) },
		drop: func() { chain.Close(stages) },
	})
}

// Inject appends tokens to the answer as if the chain had chosen them. They are shown, count as
// generated and end the answer if they complete a stop string or reach a limit.
func (st *Stream) Inject(ctx context.Context, tokens []Token) error {
	return st.control(ctx, call{
		check: func(s *Scheduler, j *job) error { return s.checkInjection(j, tokens) },
		work:  func(a *answer.Answer) error { return a.Inject(tokens) },
	})
}

func (s *Scheduler) checkInjection(j *job, tokens []Token) error {
	if err := j.errProgram("tokens for"); err != nil {
		return err
	}
	if err := s.checkForced(j, tokens); err != nil {
		return err
	}
	if !j.keepsUp() {
		return errNotYet // the reader's next read wakes the tick
	}
	return nil
}

// checkForced refuses tokens that cannot be appended to an answer.
func (s *Scheduler) checkForced(j *job, tokens []Token) error {
	if n := len(j.drawer.answer.Expected()) + len(tokens); n >= s.limits.longest() && j.req.Shift == nil {
		return fmt.Errorf("%w: %d tokens would make %d, the context has %d", ErrBadRequest, len(tokens), n, s.limits.longest())
	}
	return s.checkVocabulary(tokens)
}

// checkVocabulary refuses tokens that the model does not have.
func (s *Scheduler) checkVocabulary(tokens []Token) error {
	for _, t := range tokens {
		if t < 0 || int(t) >= s.limits.Vocabulary {
			return fmt.Errorf("%w: token %d is not in the vocabulary of %d", ErrBadRequest, t, s.limits.Vocabulary)
		}
	}
	return nil
}

// Rewind takes the last n tokens of the answer back; the next one is drawn in their place. A
// Rewound event tells which of them, and how much of their text, the reader was sent. Text that
// was held back for the tokens that stay comes with the next ones.
func (st *Stream) Rewind(ctx context.Context, n int) error {
	return st.control(ctx, call{
		check: func(_ *Scheduler, j *job) error {
			if err := j.errProgram("to rewind"); err != nil {
				return err
			}
			if has := len(j.drawer.answer.Tokens()) - j.drawer.answer.PromptLen() + len(j.drawer.answer.Early()); n < 1 || n > has {
				return fmt.Errorf("%w: rewind by %d, the answer has %d tokens", ErrBadRequest, n, has)
			}
			return nil
		},
		work: func(a *answer.Answer) error { return a.Rewind(n) },
	})
}

// Conversation is the prompt and the answer so far, with those tokens that are not shown yet. With
// the answer as Request.Begun, another request for the same prompt goes on from there as a fork of
// this one, and shares its cells.
func (st *Stream) Conversation(ctx context.Context) (prompt []Token, answered answer.Begun, err error) {
	err = st.control(ctx, call{check: func(_ *Scheduler, j *job) error {
		prompt, answered = slices.Clone(j.drawer.answer.Tokens()[:j.drawer.answer.PromptLen()]), j.drawer.answer.Answered()
		return nil
	}})
	return prompt, answered, err
}

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
	if !st.scheduler.inbox.post(func(s *Scheduler) { s.enqueueCall(st.job, p) }) {
		p.refuse(ErrEnded)
	}
	select {
	case err := <-p.result:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// enqueueCall puts a call behind those of its job that wait, for the tick to try.
func (s *Scheduler) enqueueCall(j *job, p *pendingCall) {
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
		case j.drawer.background.Busy() || s.try(j, p):
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
		s.performCall(j, p)
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

// performCall has the work of a control call done: at once if that is quick, else by the background
// sampler, which an answer with a grammar gets now if it has none: a grammar may take long for many
// tokens. The job skips ticks meanwhile, like one whose token is late.
func (s *Scheduler) performCall(j *job, p *pendingCall) {
	if p.work != nil && j.started && chain.Guarded(j.drawer.chain.Stages()) {
		s.giveBackground(&j.drawer, true)
	}
	switch {
	case p.work == nil:
		p.tell(nil)
	case j.drawer.background == nil:
		err := panics.Try(func() error { return p.work(j.drawer.answer) })
		if p := (*panics.Error)(nil); errors.As(err, &p) {
			j.drawer.answer.Fail(err)
		}
		s.emitOne(j)
		p.tell(err)
	default:
		j.calls.atWork = p
		s.awaited = append(s.awaited, &j.drawer)
		j.drawer.background.Do(func() error { return p.work(j.drawer.answer) }, p.drop)
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

// slotAction is what a client asks of the conversation of a slot, which waits until the slot is
// idle. As for a queued job, one who is parked is preempted: nobody waits for as long as a client
// pauses.
type slotAction struct {
	ctx    context.Context
	slot   int
	try    func(*Scheduler) kvcache.Wait
	refuse func(error)
}

// SaveSlot copies the conversation that the last answer of a slot left in its sequence, once the
// slot is idle, if it has this cache salt. It copies as long as each tick allows. The caller
// closes what it gets. Errors: ErrBadRequest, ErrClosed, those of kvcache.Cache.Export and the
// context's.
func (s *Scheduler) SaveSlot(ctx context.Context, slot int, salt string) (*kvcache.Saved, error) {
	type result struct {
		saved *kvcache.Saved
		err   error
	}
	results := make(chan result, 1)
	reply := func(saved *kvcache.Saved, err error) {
		if lost := s.backendLost(); lost != nil && saved != nil {
			_ = saved.Close() // it holds nothing
			saved, err = nil, lost
		}
		answerOnce(results, result{saved, err})
	}
	s.postSlotAction(&slotAction{ctx: ctx, slot: slot,
		try:    func(s *Scheduler) kvcache.Wait { return s.cache.Export(s.conversations[slot], salt, reply) },
		refuse: func(err error) { reply(nil, err) },
	})
	select {
	case r := <-results:
		return r.saved, r.err
	case <-ctx.Done():
		go func() {
			if r := <-results; r.saved != nil {
				_ = r.saved.Close() // nobody wants it
			}
		}()
		return nil, ctx.Err()
	}
}

// RestoreSlot makes a conversation that was saved the slot's, once the slot is idle. Requests in
// its scope find it, whichever slot they get. The caller may close it when this returns.
// Errors: ErrBadRequest if it is no conversation of this model, ErrClosed, and the context's.
func (s *Scheduler) RestoreSlot(ctx context.Context, slot int, saved *kvcache.Saved) error {
	if err := s.checkSaved(saved); err != nil {
		return err
	}
	results := make(chan error, 1)
	s.postSlotAction(&slotAction{ctx: ctx, slot: slot,
		try: func(s *Scheduler) kvcache.Wait {
			name, wait, err := s.cache.Import(saved)
			if wait == kvcache.WaitNone {
				s.conversations[slot] = name
				answerOnce(results, err)
			}
			return wait
		},
		refuse: func(err error) { answerOnce(results, err) },
	})
	return <-results // soon after the context ends
}

// checkSaved refuses conversations that no request could go on with.
func (s *Scheduler) checkSaved(saved *kvcache.Saved) error {
	if n := len(saved.Tokens); n < 1 || n > s.limits.longest() {
		return fmt.Errorf("%w: a conversation of %d tokens, the context has %d", ErrBadRequest, n, s.limits.longest())
	}
	end := 0
	for i := range saved.Pieces {
		p := &saved.Pieces[i]
		if !p.Sound() || p.At < end || p.At > len(saved.Tokens) || p.Rows > len(saved.Tokens)-p.At {
			return fmt.Errorf("%w: picture or sound %d of the conversation is none of its tokens", ErrBadRequest, i)
		}
		if err := s.checkVocabulary(saved.Tokens[end:p.At]); err != nil {
			return err
		}
		end = p.At + p.Rows
	}
	before := 0
	for _, p := range saved.Checkpoints {
		if p.N <= before || p.N > len(saved.Tokens) {
			return fmt.Errorf("%w: the conversation has a checkpoint at token %d", ErrBadRequest, p.N)
		}
		before = p.N
	}
	return s.checkVocabulary(saved.Tokens[end:])
}

// EraseSlot drops the conversation of a slot from the cache, once the slot is idle, if it has this
// cache salt, and returns how many tokens it had. Errors: ErrBadRequest, ErrClosed and the
// context's.
func (s *Scheduler) EraseSlot(ctx context.Context, slot int, salt string) (n int, err error) {
	results := make(chan error, 1)
	s.postSlotAction(&slotAction{ctx: ctx, slot: slot,
		try: func(s *Scheduler) kvcache.Wait {
			erased, wait := s.cache.Erase(s.conversations[slot], salt)
			if wait == kvcache.WaitNone {
				n = erased
				answerOnce(results, nil)
			}
			return wait
		},
		refuse: func(err error) { answerOnce(results, err) },
	})
	err = <-results // soon after the context ends
	return n, err
}

// postSlotAction queues an action, and wakes the tick when its context ends.
func (s *Scheduler) postSlotAction(a *slotAction) {
	if a.slot < 0 || a.slot >= len(s.slots) {
		a.refuse(fmt.Errorf("%w: slot %d, there are the slots 0 to %d", ErrBadRequest, a.slot, len(s.slots)-1))
		return
	}
	if !s.inbox.post(func(s *Scheduler) { s.slotActions = append(s.slotActions, a) }) {
		a.refuse(ErrClosed)
		return
	}
	context.AfterFunc(a.ctx, func() { s.inbox.post(func(*Scheduler) {}) })
}

// actOnSlots begins the actions whose slots are idle, and refuses those that nobody waits for any
// more.
func (s *Scheduler) actOnSlots() {
	s.slotActions = slices.DeleteFunc(s.slotActions, s.actOnSlot)
}

// dropSlotActions refuses those that nobody waits for any more.
func (s *Scheduler) dropSlotActions() {
	s.slotActions = slices.DeleteFunc(s.slotActions, func(a *slotAction) bool {
		err := a.ctx.Err()
		if err != nil {
			a.refuse(err)
		}
		return err != nil
	})
}

func (s *Scheduler) actOnSlot(a *slotAction) (over bool) {
	defer func() {
		if v := recover(); v != nil {
			err := panics.Recovered(v)
			s.logPanic(err)
			a.refuse(err)
			over = true
		}
	}()
	if err := a.ctx.Err(); err != nil {
		a.refuse(err)
		return true
	}
	if in := s.slots[a.slot]; in != nil && !(in.job.parked() && s.preempt(in.job)) {
		return false
	}
	wait := a.try(s)
	for wait == kvcache.WaitRoom && s.preempt(s.preemptible()) {
		wait = a.try(s)
	}
	return wait == kvcache.WaitNone
}

// answerOnce answers an action unless it was answered before it panicked.
func answerOnce[T any](results chan T, r T) {
	select {
	case results <- r:
	default:
	}
}

// refuseSlotActions is for the end: there will be no tick any more.
func (s *Scheduler) refuseSlotActions() {
	for _, a := range s.slotActions {
		a.refuse(ErrClosed)
	}
	s.slotActions = nil
}
