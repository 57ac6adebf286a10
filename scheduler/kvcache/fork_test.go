// SPDX-License-Identifier: MIT

package kvcache_test

import (
	"slices"
	"testing"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/kvcache"
)

// fork gets a sequence for tokens of which a running one has all but the last, and tells how many
// cells were copied for it.
func (w world) fork(tokens []kvcache.Token) (s *kvcache.Sequence, copied int) {
	w.Helper()
	before := w.Copied
	s, found := w.acquire(tokens)
	if found != len(tokens)-1 {
		w.Errorf("a fork found %d of its %d tokens", found, len(tokens))
	}
	w.compute(s, tokens)
	return s, w.Copied - before
}

// A fork takes the place of a branch that was dropped, and only what the two do not have in common
// is added there: the steps of a beam search copy no prompt after the first.
func TestCache_Acquire_ForksIntoADroppedBranch(t *testing.T) {
	w := newWorld(t, scheduler.Limits{Sequences: 3}, 1<<20)
	tokens := prompt(200, 1)
	first, _ := w.acquire(tokens)
	w.compute(first, tokens)
	second, copied := w.fork(append(slices.Clone(tokens), 7))
	if copied != 200 {
		t.Errorf("a fork into an empty sequence copied %d cells", copied)
	}
	for step := range 5 {
		tokens = append(tokens, kvcache.Token(20+step))
		w.compute(first, tokens)
		w.cache.Drop(second)
		dropped := second.ID()
		second, copied = w.fork(append(slices.Clone(tokens), 7))
		if copied != 1 || second.ID() != dropped {
			t.Errorf("step %d: %d cells were copied, into sequence %d, while %d had most of them", step, copied, second.ID(), dropped)
		}
		w.agree()
	}
	w.cache.Release(first)
	w.cache.Drop(second)
	w.cache.SaveAhead()
	if w.States > 1 {
		t.Errorf("%d sequences were saved: of a dropped branch nobody wants anything", w.States)
	}
	if w.cache.Close(); w.States != 0 {
		t.Errorf("%d states are left", w.States)
	}
}

// Who goes on where a dropped branch ends takes it over, and nothing is copied.
func TestCache_Acquire_GoesOnWithADroppedBranch(t *testing.T) {
	w := newWorld(t, scheduler.Limits{Sequences: 3}, 0)
	tokens := prompt(300, 1)
	s, _ := w.acquire(tokens)
	w.compute(s, tokens)
	w.cache.Drop(s)
	again, copied := w.fork(append(slices.Clone(tokens[:100]), 7)) // less than half of it is a reason to leave any other alone
	if again.ID() != s.ID() || copied != 0 {
		t.Errorf("sequence %d, and %d cells were copied", again.ID(), copied)
	}
}

// A dropped branch makes room before what was used less recently, and is no conversation any more.
func TestCache_Drop_IsEvictedFirst(t *testing.T) {
	w := newWorld(t, scheduler.Limits{Cells: 300, Sequences: 3}, 0)
	old := prompt(100, 1)
	w.answer(old, 1)
	tokens := prompt(150, 2)
	s, _ := w.acquire(tokens)
	w.compute(s, tokens)
	w.cache.Drop(s)
	if s.Conversation() != 0 {
		t.Error("it has a name")
	}
	w.cache.BeginTick(patient)
	if !w.cache.Reserve(100) {
		t.Fatal("no room")
	}
	if n := w.cache.LongestPrefix(append(old, 1), kvcache.Scope{}); n != 100 {
		t.Errorf("%d tokens of the older conversation are left", n)
	}
}

// Another's salt hides a dropped branch as any other sequence.
func TestCache_Acquire_ForksIntoNoOthersBranch(t *testing.T) {
	w := newWorld(t, scheduler.Limits{Sequences: 3}, 0)
	tokens := prompt(200, 1)
	dropped, _ := w.acquire(tokens)
	w.compute(dropped, tokens)
	w.cache.Drop(dropped)
	w.cache.BeginTick(patient)
	s, _ := w.cache.Acquire(kvcache.Claim{Tokens: tokens, PromptLen: len(tokens), Reuse: true, Scope: kvcache.Scope{Salt: "a"}})
	if s == nil || s.Len() != 0 {
		t.Errorf("another's request got %+v", s)
	}
}

// A recurrent state is shared as a whole and by reference, at its end alone; a dropped branch
// gives its place and nothing else.
func TestCache_Acquire_ForksRecurrentStatesAtTheirEnd(t *testing.T) {
	w := newWorld(t, scheduler.Limits{Sequences: 3}, 0)
	w.Recurrent = true
	w.cache = newCache(w.Backend, w.Backend, 0)
	tokens := prompt(200, 1)
	first, _ := w.acquire(tokens)
	w.compute(first, tokens)
	second, _ := w.fork(append(slices.Clone(tokens), 7))
	w.cache.Drop(second)
	third, _ := w.fork(append(slices.Clone(tokens), 8))
	w.cache.Drop(third)
	w.compute(first, append(tokens, 9))
	if s, found := w.acquire(append(slices.Clone(tokens), 7)); found != 0 {
		t.Errorf("%d tokens are found in sequence %d of a state that has gone on", found, s.ID())
	}
	w.agree()
}
