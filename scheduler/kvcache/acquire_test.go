// SPDX-License-Identifier: MIT

package kvcache_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/kvcache"
)

// A request goes on in an idle sequence if that keeps half of it; else it shares the prefix, and
// the sequence stays as it is.
func TestCache_Acquire_TakesOverOrShares(t *testing.T) {
	for name, c := range map[string]struct {
		kept, more int   // of a conversation of 209 computed tokens, and others
		sequence   int32 // the conversation is in 0
		found      int
	}{
		"its next turn":     {209, 20, 0, 209},
		"half of it":        {105, 20, 0, 105},
		"less than half":    {104, 20, 1, 104},
		"too little":        {kvcache.MinShared - 1, 20, 1, 0},
		"its prompt":        {200, 0, 0, 199}, // the last token is computed in any case
		"nothing in common": {0, 20, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, scheduler.Limits{Sequences: 4}, 0)
			all, _ := w.answer(prompt(200, 1), 10)
			r := slices.Concat(all[:c.kept], prompt(c.more, 9))
			s, found := w.acquire(r)
			if s.ID() != c.sequence || found != c.found {
				t.Errorf("sequence %d, %d tokens found; want %d, %d", s.ID(), found, c.sequence, c.found)
			}
			w.compute(s, r)
			w.cache.Release(s)
			w.agree()
		})
	}
}

// A short question that is asked again is not computed again, however long its answer was.
func TestCache_Acquire_SharesAShortPrompt(t *testing.T) {
	w := newWorld(t, scheduler.Limits{Sequences: 4}, 0)
	for i := range 3 {
		if _, found := w.answer(prompt(20, 1), 200); found != 19*min(i, 1) {
			t.Errorf("asked for the %d. time: %d tokens found", i+1, found)
		}
	}
	w.agree()
}

// Nothing is taken from a sequence that another request has, and it is shared by as many as come.
func TestCache_Acquire_SharesWithRunningRequests(t *testing.T) {
	w := newWorld(t, scheduler.Limits{Sequences: 4}, 0)
	var all []*kvcache.Sequence
	for i := range 4 {
		tokens := slices.Concat(prompt(100, 1), prompt(10, 5+i))
		if i > 0 && w.cache.SharedPrefix(tokens, kvcache.Scope{}) != 100 {
			t.Errorf("it would share %d tokens", w.cache.SharedPrefix(tokens, kvcache.Scope{}))
		}
		s, found := w.acquire(tokens)
		if want := min(i, 1) * 100; found != want {
			t.Errorf("request %d found %d tokens, want %d", i, found, want)
		}
		w.compute(s, tokens)
		all = append(all, s)
	}
	if used := w.Used(); used != 100+4*10 {
		t.Errorf("%d cells in use", used)
	}
	for _, s := range all {
		w.cache.Release(s)
	}
	if tokens := prompt(100, 1); w.cache.SharedPrefix(tokens, kvcache.Scope{}) != 0 || w.cache.LongestPrefix(tokens, kvcache.Scope{}) != 99 {
		t.Error("idle, they hold the prefix but share it with nobody")
	}
	w.agree()
}

func TestCache_Acquire_EvictsTheLeastRecentlyUsed(t *testing.T) {
	w := newWorld(t, scheduler.Limits{Sequences: 3}, 0)
	for i := range 3 {
		w.answer(prompt(50, i), 2)
	}
	w.answer(prompt(50, 0), 2) // again
	if s, _ := w.acquire(prompt(50, 7)); s.ID() != 1 {
		t.Errorf("it has sequence %d, want the second", s.ID())
	}
}

// A memory that cannot share is asked, and the prompt is computed.
func TestCache_Acquire_CannotShare(t *testing.T) {
	w := newWorld(t, scheduler.Limits{Sequences: 4}, 0)
	w.NoSharing = true
	w.answer(prompt(200, 1), 2)
	if _, found := w.answer(slices.Concat(prompt(60, 1), prompt(20, 2)), 2); found != 0 || w.cache.Shares() {
		t.Errorf("%d tokens found, shares: %v", found, w.cache.Shares())
	}
}

// A sequence of a recurrent memory that has gone back over wrong guesses, or still may, cannot be
// shared there. Then it is shared at a checkpoint, or another one is; and requests still wait for
// prefixes that others compute if there will be checkpoints of those.
func TestCache_Acquire_SharesBesideASequenceThatGoesBack(t *testing.T) {
	checkpoints := kvcache.CheckpointOptions{Most: 32, MinStep: 8192, Bytes: 1 << 20}
	for name, c := range map[string]struct {
		goesBack bool
		o        kvcache.CheckpointOptions
		other    int // tokens of another sequence with the same beginning
		want     int
	}{
		"gone back, with a checkpoint":   {true, checkpoints, 0, 96},
		"gone back, none":                {true, kvcache.CheckpointOptions{}, 0, 0},
		"gone back, another":             {true, kvcache.CheckpointOptions{}, 70, 70},
		"may go back, with a checkpoint": {false, checkpoints, 0, 96},
		"may go back, none":              {false, kvcache.CheckpointOptions{}, 0, 0},
		"may go back, another":           {false, kvcache.CheckpointOptions{}, 70, 70},
	} {
		t.Run(name, func(t *testing.T) {
			w := newRecurrentWorld(t, c.o)
			w.Snapshots = 4
			tokens := prompt(104, 1)
			if c.other > 0 {
				other, _ := w.acquire(tokens[:c.other])
				w.compute(other, tokens[:c.other])
			}
			s, _ := w.write(100, 1, 0)
			w.computeRows(s, tokens[100:])
			if c.goesBack && w.cache.Truncate(s, 102) != 102 {
				t.Fatal("it cannot go back")
			}
			if _, found := w.acquire(slices.Concat(tokens[:102], prompt(20, 9))); found != c.want {
				t.Errorf("%d tokens found, want %d", found, c.want)
			}
			if w.agree(); w.cache.Shares() != (c.o.Most > 0) {
				t.Errorf("requests wait for prefixes: %v", w.cache.Shares())
			}
		})
	}
}

// placer notes what it is asked and takes the least recently used sequence.
type placer struct {
	world
	prefill []int
	running []kvcache.RunningSequence
	idle    []kvcache.IdleSequence
}

func (p *placer) Place(prefill int, running []kvcache.RunningSequence, idle []kvcache.IdleSequence) int32 {
	p.prefill, p.running, p.idle = append(p.prefill, prefill), slices.Clone(running), slices.Clone(idle)
	return idle[0].Sequence
}

// A memory that is a Placer chooses the sequence while others run.
func TestCache_Acquire_AsksThePlacer(t *testing.T) {
	p := &placer{world: newWorld(t, scheduler.Limits{Sequences: 4}, 0)}
	p.cache = newCache(p, p.Backend, 0)
	p.answer(prompt(30, 1), 2) // nothing runs
	if p.prefill != nil {
		t.Error("it was asked where nothing runs")
	}
	first, _ := p.acquire(prompt(40, 2))
	second, _ := p.acquire(prompt(50, 3))
	p.acquire(prompt(60, 4))
	if diff := cmp.Diff([]int{50, 60}, p.prefill); diff != "" {
		t.Errorf("tokens to compute (-want +got):\n%s", diff)
	}
	running := []kvcache.RunningSequence{{Sequence: first.ID(), Prefill: 40}, {Sequence: second.ID(), Prefill: 50}}
	if diff := cmp.Diff(running, p.running); diff != "" {
		t.Errorf("running (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]kvcache.IdleSequence{{Sequence: 3, Saved: true}, {Sequence: 0}}, p.idle); diff != "" {
		t.Errorf("idle, least recently used first (-want +got):\n%s", diff)
	}
}
