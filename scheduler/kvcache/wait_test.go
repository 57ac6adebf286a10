// SPDX-License-Identifier: MIT

package kvcache_test

import (
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/kvcache"
)

// next tells in how long the cache needs a tick; -1: only requests change anything.
func (w world) next() time.Duration {
	at, ok := w.cache.Next()
	if !ok {
		return -1
	}
	return at.Sub(w.Now())
}

// The cache needs the next tick a moment later while it copies, at once when what somebody waits
// for came in this tick or there may be something to save ahead, and else not at all.
func TestCache_Next(t *testing.T) {
	b := &threaded{Backend: newWorld(t, scheduler.Limits{Cells: 1000, Sequences: 2}, 0).Backend}
	w := world{t, b.Backend, newCache(b, b.Backend, 1<<20)}
	begin := func() { w.cache.BeginTick(patient) }
	check := func(when string, want time.Duration) {
		t.Helper()
		if got := w.next(); got != want {
			t.Errorf("%s: the next tick in %v, want %v", when, got, want)
		}
	}
	check("in the beginning", -1)
	name := w.leave(prompt(300, 1))
	check("after a request has ended", 0)
	begin()
	w.cache.SaveAhead()
	check("with nothing to save ahead", -1)

	b.unfinished = true
	if w.cache.Reserve(1000) {
		t.Fatal("there is room")
	}
	check("while a running request waits for a copy", time.Millisecond)
	begin()
	if _, wait := w.cache.Erase(name, ""); wait != kvcache.WaitCopy {
		t.Fatalf("erasing waits for %v", wait)
	}
	check("while it waits, too", time.Millisecond)
	b.unfinished = false
	w.cache.Reserve(1000) // later in the tick
	check("after the copy has ended in the tick", 0)
	begin()
	if n, wait := w.cache.Erase(name, ""); wait != kvcache.WaitNone || n != 300 {
		t.Errorf("%d tokens erased, it waits for %v", n, wait)
	}
	check("when nobody waits", -1)
}

// A request that needs cells of another is told to wait, and asks again when the other has ended.
func TestCache_Import_WaitsForRoom(t *testing.T) {
	w := newWorld(t, scheduler.Limits{Cells: 1000, Context: 1000, Sequences: 3}, 0)
	var saved *kvcache.Saved
	w.cache.Export(w.leave(prompt(500, 1)), "", func(all *kvcache.Saved, _ error) { saved = all })
	paused, _ := w.acquire(prompt(600, 2))
	w.compute(paused, prompt(600, 2))
	w.cache.BeginTick(patient)
	w.cache.SaveAhead()
	if _, wait, err := w.cache.Import(saved); wait != kvcache.WaitRoom || err != nil {
		t.Fatalf("it waits for %v, %v", wait, err)
	}
	if at := w.next(); at != -1 {
		t.Errorf("the next tick in %v, and the request is still there", at)
	}
	w.cache.Release(paused)
	if at := w.next(); at != 0 {
		t.Errorf("the next tick in %v after the request has gone", at)
	}
	if _, wait, err := w.cache.Import(saved); wait != kvcache.WaitNone || err != nil {
		t.Errorf("it waits for %v, %v", wait, err)
	}
	w.agree()
}

// A request for which there is no sequence waits for one.
func TestCache_Acquire_WaitsForASequence(t *testing.T) {
	w := newWorld(t, scheduler.Limits{Sequences: 1}, 0)
	w.acquire(prompt(10, 1))
	if s, wait := w.cache.Acquire(kvcache.Claim{Tokens: prompt(10, 2), Reuse: true}); s != nil || wait != kvcache.WaitRoom {
		t.Errorf("sequence %v, waits for %v", s, wait)
	}
}
