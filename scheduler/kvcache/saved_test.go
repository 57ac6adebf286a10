// SPDX-License-Identifier: MIT

package kvcache_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// leave computes a conversation, leaves it in an idle sequence and tells its name.
func (w world) leave(tokens []kvcache.Token) (name uint64) {
	w.Helper()
	s, _ := w.acquire(tokens)
	w.compute(s, tokens)
	w.cache.Release(s)
	return s.Conversation()
}

// A conversation that needs the cells that two idle sequences share is restored, also beside a
// request that runs, or is paused.
func TestCache_Import_EvictsWhatIdleSequencesShare(t *testing.T) {
	for name, c := range map[string]struct {
		archive int64
		runs    int // tokens of a request
	}{"no archive": {0, 0}, "archive": {1 << 20, 0}, "beside a request": {0, 80}, "archive, beside a request": {1 << 20, 80}} {
		t.Run(name, func(t *testing.T) {
			archive := c.archive
			w := newWorld(t, scheduler.Limits{Cells: 1000, Context: 1000, Sequences: 4}, archive)
			long := prompt(900, 1)
			left := w.leave(long)
			var saved *kvcache.Saved
			if w.cache.Export(left, "", func(s *kvcache.Saved, err error) { saved = s }); saved == nil {
				t.Fatal("it was not saved")
			}
			if n, wait := w.cache.Erase(left, ""); n != 900 || wait != kvcache.WaitNone {
				t.Fatalf("%d tokens erased, it waits for %v", n, wait)
			}
			w.leave(slices.Concat(prompt(200, 2), prompt(250, 3)))
			w.leave(slices.Concat(prompt(200, 2), prompt(50, 4)))
			if w.cache.Free() != 500 {
				t.Fatalf("%d cells are free, so they share nothing", w.cache.Free())
			}
			if c.runs > 0 {
				s, _ := w.acquire(prompt(c.runs, 9))
				w.compute(s, prompt(c.runs, 9))
				if !w.cache.HasRoom(920) || w.cache.HasRoom(921) {
					t.Error("there is room for 920 tokens, and not for more")
				}
			}
			wait, err := kvcache.WaitCopy, error(nil)
			for range 10 {
				w.cache.BeginTick(patient)
				if _, wait, err = w.cache.Import(saved); wait != kvcache.WaitCopy {
					break
				}
			}
			if wait != kvcache.WaitNone || err != nil {
				t.Fatalf("it waits for %v, %v", wait, err)
			}
			w.agree()
			if _, found := w.answer(slices.Concat(long, prompt(10, 5)), 2); found != 900 {
				t.Errorf("%d tokens found", found)
			}
		})
	}
}

// A conversation that is restored where a dropped branch was is as good as any: when it is evicted,
// the archive gets it.
func TestCache_Import_WhereABranchWasDropped(t *testing.T) {
	w := newWorld(t, scheduler.Limits{Cells: 1000, Context: 1000, Sequences: 1}, 1<<20)
	long := prompt(900, 1)
	left := w.leave(long)
	var saved *kvcache.Saved
	w.cache.Export(left, "", func(s *kvcache.Saved, err error) { saved = s })
	w.cache.Erase(left, "")
	s, _ := w.acquire(prompt(50, 2))
	w.compute(s, prompt(50, 2))
	w.cache.Drop(s)
	for wait := kvcache.WaitCopy; wait == kvcache.WaitCopy; {
		var err error
		w.cache.BeginTick(patient)
		if _, wait, err = w.cache.Import(saved); err != nil {
			t.Fatal(err)
		}
	}
	w.cache.EvictIdle()
	if found := w.cache.LongestPrefix(append(long, 5), kvcache.Scope{}); found != 900 {
		t.Errorf("%d tokens found", found)
	}
	_ = saved.Close()
}

// threaded is a memory that copies on a thread of its own: a copy ends between two looks at it.
type threaded struct {
	*schedulertest.Backend
	unfinished bool
}

func (m *threaded) ContinueCopy(limit time.Duration, here bool) (done bool) {
	if limit > 0 && !here && m.unfinished {
		return false
	}
	return m.Backend.ContinueCopy(limit, here)
}

// A conversation that comes into the archive in the moment in which it is erased does not stay
// there.
func TestCache_Erase_FindsWhatWasJustArchived(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Cells: 1000, Sequences: 2})
	m := &threaded{Backend: b}
	w := world{t, b, newCache(m, b, 1<<20)}
	tokens := prompt(300, 1)
	name := w.leave(tokens)
	m.unfinished = true
	if w.cache.Reserve(1000) || !w.cache.Copying() {
		t.Fatal("it is not being saved")
	}
	m.unfinished = false
	if n, wait := w.cache.Erase(name, ""); n != 300 || wait != kvcache.WaitNone {
		t.Errorf("%d tokens erased, it waits for %v", n, wait)
	}
	if n := w.cache.LongestPrefix(tokens, kvcache.Scope{}); n != 0 || w.States != 0 {
		t.Errorf("%d tokens are left, in %d states", n, w.States)
	}
	w.agree()
}

// Under another salt a conversation is not there, be it in a sequence or in the archive: a client
// neither gets nor erases another's.
func TestCache_Export_AnotherSalt(t *testing.T) {
	for name, archived := range map[string]bool{"in a sequence": false, "in the archive": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, scheduler.Limits{Cells: 1000, Sequences: 2}, 1<<20)
			left := w.leave(prompt(300, 1))
			if archived {
				for range 100 {
					if w.cache.BeginTick(patient); w.cache.Reserve(1000) {
						break
					}
				}
				if w.States == 0 {
					t.Fatal("it is not in the archive")
				}
			}
			w.cache.BeginTick(patient)
			var err error
			if wait := w.cache.Export(left, "another", func(_ *kvcache.Saved, e error) { err = e }); wait != kvcache.WaitNone || !errors.Is(err, kvcache.ErrNothingCached) {
				t.Errorf("exported: %v, it waits for %v", err, wait)
			}
			if n, wait := w.cache.Erase(left, "another"); n != 0 || wait != kvcache.WaitNone {
				t.Errorf("%d tokens erased, it waits for %v", n, wait)
			}
			if n, _ := w.cache.Erase(left, ""); n != 300 {
				t.Errorf("%d tokens were there under its own salt", n)
			}
		})
	}
}
