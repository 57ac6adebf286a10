// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/program"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/steadytest"
)

// bomb is a stage, and the grammar of a branch, with all methods that there are, one of which
// panics at one of its calls.
type bomb struct {
	schedulertest.Sampled
	native bool
	at     string // the method
	left   *atomic.Int32
}

func (b *bomb) call(method string) {
	if method == b.at && b.left.Add(-1) == 0 {
		panic(method)
	}
}

// bombMethods are those of a bomb that a scheduler calls, on the tick or elsewhere.
var bombMethods = []string{"native", "apply", "accept", "reset", "close", "prepare", "foresee", "outputs", "interrupt", "logprob", "state", "mask", "after", "ended"}

func (b *bomb) Traits() chain.Traits {
	t := chain.Traits{Foresees: true, Logprob: func(float32) { b.call("logprob") }, HiddenState: func([]float32) { b.call("state") }}
	if !b.native {
		t.Prepares, t.Lasts = true, true
		t.Outputs = func() []chain.Output { b.call("outputs"); return nil }
		t.Interrupt = func() { b.call("interrupt") }
	}
	return t
}

func (b *bomb) Native() bool { b.call("native"); return b.native }

func (b *bomb) Apply(v *chain.View) error { b.call("apply"); return b.Sampled.Apply(v) }

func (b *bomb) Accept(scheduler.Token) (e chain.Effect, _ error) { b.call("accept"); return }

func (b *bomb) Reset([]scheduler.Token, int) error { b.call("reset"); return nil }

func (b *bomb) Close() error { b.call("close"); return nil }

func (b *bomb) Prepare() (p chain.Prepared, _ error) { b.call("prepare"); return }

func (b *bomb) Foresee(int) []scheduler.Token { b.call("foresee"); return nil }

func (b *bomb) Mask(mask []uint32) error {
	b.call("mask")
	for i := range mask {
		mask[i] = ^uint32(0)
	}
	return nil
}

func (b *bomb) After(scheduler.Token) (program.GrammarState, bool) { b.call("after"); return b, true }

// bombed are requests that call all of that: answers, and programs whose branches write.
func bombed(b *bomb) map[string]scheduler.Request {
	plain := request(20, 1, 8)
	plain.Chain = []chain.Stage{b}
	runs := written(20, 1, 3, func(r *program.Run) error {
		c := program.NewChain(func(uint64, int) ([]chain.Stage, error) { return []chain.Stage{b}, nil })
		all := []*program.Branch{mustOpen(r, r.Prompt()), mustOpen(r, own(20, 5)), mustOpen(r, own(20, 6))}
		var errs error
		for i, of := range all {
			if i > 0 {
				errs = errors.Join(errs, of.Follow(b))
			}
			errs = errors.Join(errs, of.Run(c, 3, false))
		}
		_, err := r.Wait(1, false, all...)
		errs = errors.Join(errs, err)
		for range 2 {
			_, err := r.Wait(1, false, all...)
			errs = errors.Join(errs, err)
			for _, of := range all {
				t, err := of.Sample(c)
				errs = errors.Join(errs, err, of.Append([]program.Token{t}, false))
			}
		}
		return errors.Join(errs, showTokens(r, []program.Token{1}))
	})
	runs.Chain = []chain.Stage{b}
	for _, r := range []*scheduler.Request{&plain, &runs} {
		r.Ended = func(scheduler.RequestRecord) { b.call("ended") }
	}
	return map[string]scheduler.Request{"answer": plain, "program": runs}
}

// Wherever the code that a request brings along panics, on the tick, on a background sampler or on
// a program's goroutine, it is this request that ends: others' answers go on as if it were not
// there, what it had is free, and the scheduler goes on.
func TestPanic_OfARequestsOwnCode_IsItsOwn(t *testing.T) {
	l := scheduler.Limits{Vocabulary: 1 << 14, HiddenState: 2, Drafts: true} // so many that rows are read on all processors
	calls := steadytest.Some(t, []int32{1, 2, 3, 4, 5, 6, 7, 8, 9}, 3)
	for _, native := range []bool{true, false} {
		for _, method := range bombMethods {
			t.Run(fmt.Sprintf("%s, native %v", method, native), func(t *testing.T) {
				for _, nth := range calls {
					bombNth(t, l, native, method, nth)
				}
			})
		}
	}
}

func bombNth(t *testing.T, l scheduler.Limits, native bool, method string, nth int32) {
	for kind := range bombed(&bomb{}) {
		inBubble(t, l, scheduler.Config{Slots: 5, Log: discard}, func(b bubble) {
			stage := &bomb{native: native, at: method, left: new(atomic.Int32)}
			stage.left.Store(nth)
			before := submit(t, b.Scheduler, request(10, 2, 12))
			guilty := b.read(submit(t, b.Scheduler, bombed(stage)[kind]))
			after := submit(t, b.Scheduler, request(10, 3, 12))
			for i, st := range []*scheduler.Stream{before, after} {
				if a := b.read(st); a.text != b.goesOn(10, 2+i, 12) {
					t.Errorf("%s, call %d: beside it (%v) a request has %q (%v)", kind, nth, guilty.end.Err, a.text, a.end.Err)
				}
			}
			_ = scheduler.Do(b.Context(), b.Scheduler, func() {
				if got, want := scheduler.Held(b.Scheduler), b.host.Used(); got != want {
					t.Errorf("%s, call %d: the books have %d cells, the cache %d", kind, nth, got, want)
				}
			})
		})
	}
}

// goesOn is the text of an answer to a prompt.
func (b bubble) goesOn(n, seed, most int) (text string) {
	for _, t := range b.host.GoesOn(prompt(n, seed)[0].Tokens, most) {
		text += b.host.Piece(t)
	}
	return text
}
