// SPDX-License-Identifier: MIT

package kvcache_test

import (
	"slices"
	"testing"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/tools/must"
)

// A pass that failed may have left tokens in the memory. They are removed or, where it cannot be
// cut there, all of the sequence is.
func TestCache_Repair(t *testing.T) {
	for _, want := range []int{40, 0} {
		w := newWorld(t, scheduler.Limits{Sequences: 2}, 0)
		w.NoCutting = want == 0
		s, _ := w.acquire(prompt(50, 1))
		w.compute(s, prompt(40, 1))
		var batch scheduler.Batch
		for i, token := range prompt(50, 1)[40:] {
			batch.Add(token, int32(40+i), s.ID(), false)
		}
		_ = w.Start(&batch)
		must.Do(t, w.Wait())
		w.cache.Repair(s)
		if w.agree(); s.Len() != want {
			t.Errorf("%d tokens, want %d", s.Len(), want)
		}
	}
}

// A cell that several sequences hold is free when the last has let go of it.
func TestCache_Truncate_FreesUnsharedCells(t *testing.T) {
	w := newWorld(t, scheduler.Limits{Sequences: 3, Cells: 300}, 0)
	a, _ := w.acquire(prompt(100, 1))
	w.compute(a, prompt(100, 1))
	tokens := slices.Concat(prompt(80, 1), prompt(20, 2))
	b, _ := w.acquire(tokens)
	w.compute(b, tokens)
	for _, c := range []struct {
		do   func()
		free int
	}{
		{func() {}, 180},
		{func() { w.cache.Truncate(a, 50) }, 200},
		{func() { w.cache.Truncate(b, 50) }, 250},
		{func() { w.cache.Truncate(b, 60) }, 250},
	} {
		c.do()
		if w.agree(); w.cache.Free() != c.free {
			t.Errorf("%d cells are free, want %d", w.cache.Free(), c.free)
		}
	}
	if w.cache.HasRoom(251) {
		t.Error("there is room in what running requests hold")
	}
	w.cache.Release(b)
	if !w.cache.HasRoom(250) || w.cache.Reserve(251) {
		t.Error("what two sequences share is room")
	}
}

// What several idle sequences share can be evicted too; what one running request holds cannot.
func TestCache_Evictable_CountsWhatIdleSequencesShare(t *testing.T) {
	w := newWorld(t, scheduler.Limits{Sequences: 4}, 0)
	var all []*kvcache.Sequence
	for i := range 3 {
		tokens := slices.Concat(prompt(100, 1), prompt(10, 5+i))
		s, _ := w.acquire(tokens)
		w.compute(s, tokens)
		all = append(all, s)
	}
	for i, want := range []int{10, 20, 130} { // the last one lets go of the prefix
		w.cache.Release(all[i])
		if got := w.cache.Evictable(); got != want {
			t.Errorf("with %d of 3 idle, %d of %d cells can be evicted, want %d", i+1, got, w.Used(), want)
		}
	}
}
