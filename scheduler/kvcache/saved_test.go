// SPDX-License-Identifier: MIT

package kvcache_test

import (
	"slices"
	"testing"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/kvcache"
)

// leave computes a conversation, leaves it in an idle sequence and tells its name.
func (w world) leave(tokens []kvcache.Token) (name uint64) {
	w.Helper()
	s, _ := w.acquire(tokens)
	w.compute(s, tokens)
	w.cache.Release(s)
	return s.Conversation()
}

// A conversation that needs the cells that two idle sequences share is restored: nothing runs that would need those.
func TestCache_Import_EvictsWhatIdleSequencesShare(t *testing.T) {
	for name, archive := range map[string]int64{"no archive": 0, "archive": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, scheduler.Limits{Cells: 1000, Context: 1000, Sequences: 4}, archive)
			long := prompt(900, 1)
			left := w.leave(long)
			var saved *kvcache.Saved
			if !w.cache.Export(left, "", func(s *kvcache.Saved, err error) { saved = s }) || saved == nil {
				t.Fatal("it was not saved")
			}
			if n, done := w.cache.Erase(left, ""); n != 900 || !done {
				t.Fatalf("%d tokens erased, done: %v", n, done)
			}
			w.leave(slices.Concat(prompt(200, 2), prompt(250, 3)))
			w.leave(slices.Concat(prompt(200, 2), prompt(50, 4)))
			if w.cache.Free() != 500 {
				t.Fatalf("%d cells are free, so they share nothing", w.cache.Free())
			}
			begun, err := false, error(nil)
			for range 10 {
				w.cache.BeginTick(patient)
				if _, begun, err = w.cache.Import(saved); begun {
					break
				}
			}
			if !begun || err != nil {
				t.Fatalf("restored: %v, %v", begun, err)
			}
			w.agree()
			if _, found := w.answer(slices.Concat(long, prompt(10, 5)), 2); found != 900 {
				t.Errorf("%d tokens found", found)
			}
		})
	}
}
