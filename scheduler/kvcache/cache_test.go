// SPDX-License-Identifier: MIT

package kvcache_test

import (
	"slices"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// world is a cache of a memory without arithmetic, one request at a time.
type world struct {
	*testing.T
	*schedulertest.Backend
	cache *kvcache.Cache
}

// patient lets a tick copy as much as there is.
var patient = kvcache.CopyTime{Archive: time.Hour, Prefix: time.Hour, Ahead: time.Hour}

func newWorld(t *testing.T, l scheduler.Limits, archive int64) world {
	b := schedulertest.New(l)
	return world{t, b, newCache(b, b, archive)}
}

func newCache(m kvcache.Memory, b *schedulertest.Backend, archive int64) *kvcache.Cache {
	l := b.Limits()
	c := kvcache.New(m, kvcache.Options{Cells: l.Cells, Sequences: l.Sequences, ArchiveBytes: archive, Pieces: b.Pieces, Clock: b.Now})
	c.BeginTick(patient)
	return c
}

// prompt makes n tokens that differ by seed, from the first on.
func prompt(n, seed int) []kvcache.Token {
	tokens := make([]kvcache.Token, n)
	for i := range tokens {
		tokens[i] = kvcache.Token(1 + (i*7+seed*31)%200)
	}
	return tokens
}

// acquire gets a sequence for a new request, which may take some ticks, and tells how many of its
// tokens were found.
func (w world) acquire(tokens []kvcache.Token) (s *kvcache.Sequence, found int) {
	w.Helper()
	for range 1000 {
		w.cache.BeginTick(patient)
		s, _ := w.cache.Acquire(kvcache.Claim{Tokens: tokens, PromptLen: len(tokens), Reuse: true})
		w.cache.SaveAhead()
		if s != nil {
			return s, s.Len()
		}
	}
	w.Fatal("there is no sequence")
	return nil, 0
}

// compute puts into a sequence what it lacks of some tokens and returns what the model says next.
func (w world) compute(s *kvcache.Sequence, tokens []kvcache.Token) (next kvcache.Token) {
	w.Helper()
	draws := []scheduler.Draw{{Row: 0}}
	for s.Len() < len(tokens) {
		chunk := tokens[s.Len():min(len(tokens), s.Len()+w.Limits().Batch)]
		w.cache.BeginTick(patient)
		if !w.cache.Reserve(len(chunk)) {
			w.Fatalf("no room for %d tokens", len(chunk))
		}
		var batch scheduler.Batch
		for i, t := range chunk {
			batch.Add(t, int32(s.Len()+i), s.ID(), i == len(chunk)-1)
		}
		_ = w.Start(&batch)
		if err := w.Wait(); err != nil {
			w.Fatal(err)
		}
		w.cache.Append(s, chunk)
		w.SampleRows(draws)
	}
	next = draws[0].Token
	if want := w.After(append(slices.Clone(tokens), 0), len(tokens), scheduler.Request{})[0]; next != want {
		w.Errorf("the model says %d, without a cache %d", next, want)
	}
	return next
}

// computeRows puts tokens into a sequence in one pass with a row for each, as guesses are computed.
func (w world) computeRows(s *kvcache.Sequence, tokens []kvcache.Token) {
	w.Helper()
	if !w.cache.Reserve(len(tokens)) {
		w.Fatalf("no room for %d tokens", len(tokens))
	}
	var batch scheduler.Batch
	for i, t := range tokens {
		batch.Add(t, int32(s.Len()+i), s.ID(), true)
	}
	_ = w.Start(&batch)
	if err := w.Wait(); err != nil {
		w.Fatal(err)
	}
	w.cache.Append(s, tokens)
}

// answer generates so many tokens after a prompt and returns the whole, and how much of the prompt
// was found. The last token is not computed.
func (w world) answer(tokens []kvcache.Token, most int) (all []kvcache.Token, found int) {
	w.Helper()
	s, found := w.acquire(tokens)
	all = slices.Clone(tokens)
	for range most {
		all = append(all, w.compute(s, all))
	}
	w.cache.Release(s)
	w.agree()
	return all, found
}

// agree checks that books and memory have the same number of cells in use.
func (w world) agree() {
	w.Helper()
	if got, want := w.Limits().Cells-w.cache.Free(), w.Used(); got != want {
		w.Errorf("the books have %d cells in use, the memory %d", got, want)
	}
}

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
