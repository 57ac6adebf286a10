// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// shifted is what a model with so many positions says in answer to a request if the context is
// shifted, n tokens: computed without a scheduler.
func shifted(b *schedulertest.Backend, r scheduler.Request, longest, n int) (said []scheduler.Token) {
	context := slices.Clone(r.Prompt[0].Tokens)
	keep := r.Shift.Keep
	if keep < 0 {
		keep = len(context)
	}
	keep = b.Pieces.Border(context, min(keep, longest-4))
	for range n {
		t := b.After(append(context, 0), len(context), r)[0]
		said, context = append(said, t), append(context, t)
		if len(context) < longest {
			continue
		}
		most := len(context) - keep - 1
		discard := r.Shift.Discard
		if discard == 0 {
			discard = most / 2
		}
		discard = b.Pieces.BorderAfter(context, keep+max(1, min(discard, most-1))) - keep
		context = append(context[:keep:keep], context[keep+discard:]...)
		if r.AdaptersFrom > keep { // they begin at the same token as before, or at the first one that is left after it
			r.AdaptersFrom = max(keep, r.AdaptersFrom-discard)
		}
	}
	return said
}

// An answer that outgrows the context goes on as one to what is left in the context, whatever runs
// beside it.
func TestScheduler_Shift_GoesOn(t *testing.T) {
	for name, shift := range map[string]answer.Shift{"half": {}, "keeps the beginning": {Keep: 10}, "three at a time": {Keep: 2, Discard: 3}} {
		t.Run(name, func(t *testing.T) {
			b := schedulertest.New(scheduler.Limits{Cells: 80, Context: 32, Batch: 16})
			s := newScheduler(t, b, scheduler.Config{Slots: 3})
			var streams []*scheduler.Stream
			var requests []scheduler.Request
			for i := range 3 {
				r := request(10, i/2, 150)
				r.Shift, r.Buffer = &shift, 200
				requests, streams = append(requests, r), append(streams, submit(t, s, r))
			}
			for i, a := range finish(t, s, streams...) {
				if diff := cmp.Diff(shifted(b, requests[i], 32, 150), a.tokens); diff != "" {
					t.Errorf("answer %d: %s", i, diff)
				}
				if a.end.Reason != answer.ReasonLength || !a.end.Truncated || a.end.Usage.Generated != 150 || a.end.Usage.Context >= 32 {
					t.Errorf("answer %d: %+v", i, a.end)
				}
			}
		})
	}
}

// Adapters that count from a token of the prompt on still do so when that has moved, or has left
// the context. Nothing that they computed is taken for the model's own afterwards.
func TestScheduler_Shift_KeepsTheAdapters(t *testing.T) {
	for _, from := range []int{0, 20, 88} {
		for name, shift := range map[string]answer.Shift{"half": {}, "keeps the beginning": {Keep: 30}, "keeps the prompt": {Keep: -1}} {
			t.Run(fmt.Sprint(name, " ", from), func(t *testing.T) {
				b := schedulertest.New(scheduler.Limits{Cells: 400, Context: 100})
				s := newScheduler(t, b, scheduler.Config{Slots: 1})
				r := adapted("a", from, 90, 1, 150)
				r.Shift, r.Buffer = &shift, 200
				st := submit(t, s, r)
				a := finish(t, s, st)[0]
				if diff := cmp.Diff(shifted(b, r, 100, 150), a.tokens); diff != "" {
					t.Error(diff)
				}
				for _, other := range []string{"", "a"} { // what it has left in the cache
					r := adapted(other, from, 90, 1, 9)
					if a, want := finish(t, s, submit(t, s, r))[0], alone(t, r); !slices.Equal(a.tokens, want.tokens) {
						t.Errorf("with %q the next answer is %v, alone %v", other, a.tokens, want.tokens)
					}
				}
			})
		}
	}
}

func TestScheduler_NoShift_EndsTruncated(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Cells: 32})
	s := newScheduler(t, b, scheduler.Config{Slots: 1})
	a := finish(t, s, submit(t, s, request(10, 1, 0)))[0]
	if a.end.Reason != answer.ReasonLength || !a.end.Truncated || a.end.Usage.Generated != 22 || a.end.Usage.Context != 31 {
		t.Errorf("%+v", a.end)
	}
	if a := finish(t, s, submit(t, s, request(10, 1, 3)))[0]; a.end.Truncated {
		t.Errorf("an answer that ends before: %+v", a.end)
	}
}

// A request that names a slot waits for that one, and no other request waits for it.
func TestScheduler_Slot_IsWaitedFor(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	s := newScheduler(t, b, scheduler.Config{Slots: 2})
	in := func(slot int, most int) scheduler.Request {
		r := request(5, slot, most)
		r.Slot = &slot
		return r
	}
	first, second, third := submit(t, s, in(1, 20)), submit(t, s, in(1, 3)), submit(t, s, request(5, 3, 3))
	s.Tick()
	var answers [3]received
	for i, st := range []*scheduler.Stream{first, second, third} {
		answers[i].read(st)
	}
	if len(answers[0].events) == 0 || answers[0].events[0].Started.Slot != 1 || len(answers[1].events) != 0 ||
		len(answers[2].events) == 0 || answers[2].events[0].Started.Slot != 0 {
		t.Errorf("%+v", answers)
	}
	rest := finish(t, s, first, second, third)
	if e := rest[1].events[0]; e.Started.Slot != 1 {
		t.Errorf("the second began in slot %d", e.Started.Slot)
	}
	if _, err := s.Submit(in(2, 1)); !errors.Is(err, scheduler.ErrBadRequest) {
		t.Errorf("slot 2 of two: %v", err)
	}
}
