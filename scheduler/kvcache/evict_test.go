// SPDX-License-Identifier: MIT

package kvcache_test

import (
	"slices"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/kvcache"
)

// A tick copies no longer than it may; a request whose sequence waits for the copy gets it when
// that is done.
func TestCache_BeginTick_LimitsCopies(t *testing.T) {
	const cell = 100 * time.Microsecond
	w := newWorld(t, scheduler.Limits{Sequences: 3}, 1<<20)
	w.answer(prompt(400, 1), 2)
	w.CopyCost = cell
	r := kvcache.Claim{Tokens: slices.Concat(prompt(100, 1), prompt(10, 2)), Reuse: true}
	ticks := 1
	for ; ; ticks++ {
		begin := w.Now()
		w.cache.BeginTick(kvcache.CopyTime{Archive: time.Millisecond, Prefix: 2 * time.Millisecond})
		s, wait := w.cache.Acquire(r)
		if took := w.Now().Sub(begin); took > 2*time.Millisecond {
			t.Errorf("tick %d copied for %v", ticks, took)
		}
		if s != nil {
			w.compute(s, r.Tokens)
			break
		}
		if wait != kvcache.WaitCopy || !w.cache.Copying() {
			t.Fatalf("no sequence, it waits for %v", wait)
		}
	}
	if ticks != 5 { // 20 cells each
		t.Errorf("%d ticks", ticks)
	}
}

// settled reports whether the cache needs no tick.
func settled(c *kvcache.Cache) bool {
	_, due := c.Next()
	return !due
}

// Nobody waits for a copy ahead: another ends it, and the memory is not left with half a state.
func TestCache_SaveAhead_IsCancelled(t *testing.T) {
	w := newWorld(t, scheduler.Limits{Sequences: 2, Cells: 1000}, 1<<20)
	w.answer(prompt(300, 1), 2)
	w.answer(prompt(300, 2), 2)
	states := w.States
	w.CopyCost = time.Millisecond
	w.cache.BeginTick(kvcache.CopyTime{Ahead: 10 * time.Millisecond})
	w.cache.SaveAhead()
	if !w.cache.Copying() || settled(w.cache) || w.States != states+1 {
		t.Fatalf("copying: %v, %d states", w.cache.Copying(), w.States)
	}
	if !w.cache.EvictIdle() || w.cache.Free() != 1000 {
		t.Errorf("%d cells are free", w.cache.Free())
	}
	w.cache.Close()
	if w.States != 0 || w.StateBytes != 0 || w.cache.Copying() {
		t.Errorf("%d states with %d bytes are left, copying: %v", w.States, w.StateBytes, w.cache.Copying())
	}
	w.agree()
}

// What is saved ahead stays until its sequence is wanted, which is then free at once.
func TestCache_SaveAhead_MakesPlaces(t *testing.T) {
	w := newWorld(t, scheduler.Limits{Sequences: 2, Cells: 1000}, 1<<20)
	w.answer(prompt(300, 1), 2)
	w.answer(prompt(300, 2), 2)
	w.cache.BeginTick(patient)
	w.cache.SaveAhead()
	if !settled(w.cache) || w.cache.LongestPrefix(prompt(300, 1), kvcache.Scope{}) != 299 {
		t.Error("it is not saved, or has left the cache")
	}
	w.cache.BeginTick(kvcache.CopyTime{})
	if s, _ := w.cache.Acquire(kvcache.Claim{Tokens: prompt(100, 3), Reuse: true}); s == nil {
		t.Error("a request waits for a place")
	}
	if w.cache.LongestPrefix(prompt(300, 1), kvcache.Scope{}) != 299 {
		t.Error("what was evicted is not in the archive")
	}
}

// Two sequences with the same tokens are saved once: else each would take the place of the other,
// for ever.
func TestCache_SaveAhead_SavesEqualConversationsOnce(t *testing.T) {
	w := newWorld(t, scheduler.Limits{Sequences: 2}, 1<<20)
	w.NoSharing, w.CopyCost = true, 10*time.Microsecond
	tokens := prompt(300, 1)
	var both [2]*kvcache.Sequence
	for i := range both {
		both[i], _ = w.acquire(tokens)
	}
	for _, s := range both {
		w.compute(s, tokens)
		w.cache.Release(s)
	}
	for ticks := 0; ticks == 0 || !settled(w.cache); ticks++ {
		if w.cache.BeginTick(patient); ticks > 20 || w.Copied > 600 {
			t.Fatalf("%d cells are copied of 300", w.Copied)
		}
		w.cache.BeginTick(kvcache.CopyTime{Ahead: time.Millisecond})
		w.cache.SaveAhead()
	}
	if w.Copied != 300 {
		t.Errorf("%d cells are copied of 300", w.Copied)
	}
}
