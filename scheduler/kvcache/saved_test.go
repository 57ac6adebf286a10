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

// talk asks with a prompt that begins a conversation, or goes on with one, and gives the whole of
// it and how much of it was found.
func (w world) talk(before, more []kvcache.Token) (all []kvcache.Token, found int) {
	w.Helper()
	return w.answer(slices.Concat(before, more), 10)
}

// A conversation that clients came back to outlasts any number of prompts that are sent once.
func TestCache_Archive_OneShotPromptsPushOutNoConversation(t *testing.T) {
	w := newWorld(t, scheduler.Limits{Cells: 600, Context: 600, Sequences: 1}, 16<<10) // five of 12 bytes a token
	first, _ := w.talk(nil, prompt(200, 1))
	second, _ := w.talk(first, prompt(20, 2))
	for i := range 40 {
		w.talk(nil, prompt(230, 10+i))
		if w.StateBytes > 16<<10 {
			t.Fatalf("the states have %d bytes", w.StateBytes)
		}
	}
	third, found := w.talk(second, prompt(20, 3))
	if found != len(second)-1 {
		t.Errorf("%d tokens found, want %d", found, len(second)-1)
	}
	// And it makes way where others come back to theirs.
	for i := range 8 {
		so, _ := w.talk(nil, prompt(230, 60+i))
		w.talk(so, prompt(20, 5))
	}
	if _, found := w.talk(third, prompt(20, 4)); found != 0 {
		t.Errorf("%d tokens found of a conversation that eight others have pushed out", found)
	}
}

// What a request has in common with an archived conversation comes back, no more, and the
// conversation stays.
func TestCache_Archive_GivesWhatIsWanted(t *testing.T) {
	w := newWorld(t, scheduler.Limits{Cells: 1000, Context: 1000, Sequences: 2}, 1<<20)
	system, _ := w.talk(nil, prompt(100, 1))
	system = system[:100]
	long, _ := w.talk(system, prompt(500, 2))
	w.talk(nil, prompt(400, 3))
	w.talk(nil, prompt(450, 4)) // and the long one is archived
	copied := w.Copied
	_, found := w.talk(system, prompt(50, 5))
	if found != 100 || w.Restored != 1 {
		t.Errorf("%d tokens found, %d states put back; want 100, 1", found, w.Restored)
	}
	if n := w.Copied - copied; n > 1010 { // the one that made room, one ahead, and these
		t.Errorf("%d cells copied", n)
	}
	w.FailRestore = true
	if _, found := w.talk(long, prompt(10, 6)); found > 100 {
		t.Errorf("%d tokens found of a state that cannot be put back", found)
	}
	w.talk(nil, prompt(400, 7))
	w.talk(nil, prompt(450, 8))
	w.FailRestore = false
	if _, found := w.talk(long, prompt(10, 9)); found < len(long)-1 {
		t.Errorf("%d tokens found after a failure, want %d", found, len(long)-1)
	}
	if w.Forced != 0 {
		t.Errorf("%d copies were waited for", w.Forced)
	}
}

// Where a memory cannot be cut, an entry comes back as a whole or not at all. One that goes on
// differently is of no use, and does not stand before one that is.
func TestCache_Archive_MemoryThatCannotBeCut(t *testing.T) {
	w := newWorld(t, scheduler.Limits{Cells: 600, Context: 600, Sequences: 1}, 1<<20)
	w.NoCutting = true
	whole := prompt(200, 1)
	for i, c := range []struct {
		tokens []kvcache.Token
		want   int
	}{{slices.Concat(whole, prompt(30, 2)), 0}, {whole, 0}, {slices.Concat(whole, prompt(30, 3)), len(whole)}} {
		if _, found := w.answer(c.tokens, 1); found != c.want {
			t.Errorf("request %d: %d tokens found, want %d", i, found, c.want)
		}
		w.answer(prompt(230, 4), 1) // and it is archived
	}
}

// Each entry has a mapping of its own, so there is a bound on their number too.
func TestCache_Archive_BoundsItsEntries(t *testing.T) {
	w := newWorld(t, scheduler.Limits{Cells: 80, Context: 80, Sequences: 1, Vocabulary: 1 << 16}, 1<<30)
	most := 0
	for i := range 4200 {
		w.answer(slices.Concat([]kvcache.Token{kvcache.Token(i + 1)}, prompt(69, 1)), 1)
		most = max(most, w.States)
	}
	if most != 4096 {
		t.Errorf("%d states, want 4096", most)
	}
}

// A prompt that was never computed does not make a conversation of what comes into its sequence
// next.
func TestCache_Archive_NothingComputedIsNotContinued(t *testing.T) {
	w := newWorld(t, scheduler.Limits{Cells: 2000, Sequences: 2}, 0)
	w.talk(nil, prompt(200, 1))
	cancelled, _ := w.acquire(prompt(50, 2))
	w.cache.Release(cancelled)
	s, found := w.acquire(slices.Concat(prompt(90, 1), prompt(20, 3))) // less than half of the first: it is shared
	if s != cancelled || found != 90 {
		t.Fatalf("%d tokens found, in sequence %d", found, s.ID())
	}
	if s.Continued() {
		t.Error("it continues a conversation")
	}
}

// What a request comes back for is not pushed out by the conversation that makes room for it.
func TestCache_Archive_RestoringKeepsWhatItRestores(t *testing.T) {
	w := newWorld(t, scheduler.Limits{Cells: 600, Context: 600, Sequences: 1}, 6000) // two of 12 bytes a token
	first, _ := w.talk(nil, prompt(200, 1))
	w.talk(nil, prompt(230, 9))
	w.talk(first, prompt(20, 2)) // continued, so others go before it
	talks := [2][]kvcache.Token{}
	for i := range talks {
		talks[i], _ = w.talk(nil, prompt(220, 3+i))
	}
	for turn := range 4 { // one is in the cache, and the archive has the other
		before := talks[turn%2]
		all, found := w.talk(before, prompt(4, 5))
		if found == 0 {
			t.Errorf("turn %d: nothing of the conversation's %d tokens is found", turn, len(before))
		}
		talks[turn%2] = all
	}
}

// That holds while it waits for the copies that make room, too, and for a shorter conversation
// that the longer one begins with, which cannot be cut there.
func TestCache_Archive_RestoringKeepsAPrefixOfWhatLeaves(t *testing.T) {
	w := newWorld(t, scheduler.Limits{Cells: 600, Context: 600, Sequences: 1}, 1<<20)
	w.NoCutting = true
	short, _ := w.talk(nil, prompt(200, 1))
	w.talk(nil, prompt(230, 9)) // the short one is archived
	w.NoCutting = false
	w.FailRestore = true
	long, _ := w.talk(short, prompt(100, 2)) // computed again
	w.FailRestore, w.NoCutting = false, true
	if len(long) <= len(short) {
		t.Fatal("it is not longer")
	}
	if _, found := w.talk(short, prompt(30, 3)); found < len(short)-1 {
		t.Errorf("%d tokens found of %d", found, len(short))
	}
}

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
