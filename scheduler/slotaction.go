// SPDX-License-Identifier: MIT

package scheduler

import (
	"context"
	"fmt"
	"slices"

	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/panics"
)

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
