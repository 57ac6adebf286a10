// SPDX-License-Identifier: MIT

package kvcache_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/piece"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/steadytest"
)

// one is a random element; nil where there is none.
func one[T any](rng *rand.Rand, all []*T) *T {
	if len(all) == 0 {
		return nil
	}
	return all[rng.IntN(len(all))]
}

// random is a request that begins as others did, or as none.
func (w *randomWorld) random() *randomRequest {
	r := &randomRequest{scope: kvcache.Scope{Salt: []string{"", "", "a"}[w.rng.IntN(3)]}}
	if w.rng.IntN(4) == 0 {
		r.scope.Adapters, r.scope.From = "1", w.rng.IntN(2)*w.rng.IntN(100)
	}
	like := one(w.rng, w.left)
	if w.rng.IntN(3) == 0 {
		like = one(w.rng, w.running)
	}
	if like != nil && w.rng.IntN(5) > 0 {
		r.tokens = slices.Clone(like.tokens)
		if w.rng.IntN(3) == 0 {
			r.tokens = r.tokens[:w.border(r.tokens, w.rng.IntN(len(r.tokens)))]
		}
		if w.rng.IntN(4) > 0 {
			r.scope = like.scope
		}
	}
	longest := w.memory.Limits().Cells / 2
	more := prompt(1+w.rng.IntN(longest/3), w.rng.IntN(8))
	if len(w.album.Pieces) > 0 {
		more = w.album.Into(w.rng, more, w.rng.IntN(4))
	}
	r.tokens = append(r.tokens, more...)
	if longest < len(r.tokens) {
		r.tokens = r.tokens[:w.border(r.tokens, longest)]
	}
	for len(r.tokens) > 0 && r.tokens[len(r.tokens)-1] < 0 { // no prompt ends on a picture
		r.tokens = r.tokens[:len(r.tokens)-1]
	}
	if len(r.tokens) == 0 {
		r.tokens = prompt(1, 0)
	}
	r.scope.From = w.border(r.tokens, r.scope.From)
	r.prompt = len(r.tokens)
	return r
}

// acquire asks for a sequence for the request that waits.
func (w *randomWorld) acquire() {
	if w.waiting == nil {
		w.waiting = w.random()
	}
	r, full := w.waiting, len(w.running) == w.memory.Limits().Sequences
	s, wait := w.cache.Acquire(kvcache.Claim{Tokens: r.tokens, PromptLen: r.prompt, Scope: r.scope, Reuse: r.started || w.rng.IntN(8) > 0, Resumed: r.started})
	if w.note(wait); s == nil {
		if wait == kvcache.WaitNone || wait == kvcache.WaitRoom && !full || wait == kvcache.WaitCopy && !w.cache.Copying() {
			w.Fatalf("no sequence, and it waits for %v", wait)
		}
		return
	}
	r.seq, r.held, r.started = s, s.Len(), true
	w.running, w.waiting = append(w.running, r), nil
	if r.held >= len(r.tokens) || full {
		w.Fatalf("%d tokens found of %d, all sequences have requests: %v", r.held, len(r.tokens), full)
	}
	for _, other := range w.running[:len(w.running)-1] {
		if other.seq == s {
			w.Fatalf("sequence %d has two requests", s.ID())
		}
	}
}

// compute computes some of a request's tokens, or its last and the next, or guesses that are taken
// back.
func (w *randomWorld) compute(r *randomRequest) {
	at := r.seq.Len()
	chunk := r.tokens[at:]
	chunk = chunk[:min(len(chunk), 1+w.rng.IntN(100), r.seq.Uninterrupted())]
	if r.scope.Adapters != "" && at < r.scope.From {
		chunk = chunk[:min(len(chunk), r.scope.From-at)]
	}
	chunk = w.alike(chunk)
	guessed := 0
	if whole := at+len(chunk) == len(r.tokens); whole && w.rng.IntN(3) == 0 && w.memory.Limits().Drafts && len(r.tokens) > r.scope.From {
		guessed = 1 + w.rng.IntN(5)
		chunk = append(slices.Clone(chunk), prompt(guessed, w.rng.IntN(8))...)
	}
	if !w.cache.Reserve(len(chunk)) {
		w.release(r)
		return
	}
	var batch scheduler.Batch
	if r.scope.Adapters != "" && at >= r.scope.From {
		batch.Adapters = schedulertest.Adapters(r.scope.Adapters)
	}
	w.fill(&batch, r.seq, chunk, guessed)
	_ = w.memory.Start(&batch)
	if err := w.memory.Wait(); err != nil {
		if !errors.Is(err, scheduler.ErrNoCells) || w.memory.panicked == 0 {
			w.Fatalf("sequence %d from %d: %v", r.seq.ID(), at, err)
		}
		w.cache.Repair(r.seq) // the books do not have what a panic has left in the memory
		w.cache.EvictIdle()
		r.held = r.seq.Len()
		return
	}
	w.cache.Append(r.seq, chunk)
	if r.held = r.seq.Len(); r.held < len(r.tokens) {
		return
	}
	draws := []scheduler.Draw{{}}
	w.memory.SampleRows(draws)
	like := scheduler.Request{AdaptersFrom: r.scope.From}
	if r.scope.Adapters != "" {
		like.Adapters = schedulertest.Adapters(r.scope.Adapters)
	}
	if want := w.memory.After(append(slices.Clone(r.tokens), 0), len(r.tokens), like)[0]; draws[0].Token != want {
		w.Fatalf("after %d tokens the model says %d, without a cache %d", len(r.tokens), draws[0].Token, want)
	}
	known := len(r.tokens)
	r.tokens = append(r.tokens, draws[0].Token)
	w.cut(r, known)
}

// border is where a list of tokens may be cut.
func (w *randomWorld) border(tokens []kvcache.Token, n int) int {
	return w.memory.Pieces.Border(tokens, n)
}

// alike is the first part of a chunk that one pass can compute.
func (w *randomWorld) alike(chunk []kvcache.Token) []kvcache.Token {
	if chunk[0] >= 0 {
		if i := slices.IndexFunc(chunk, func(t kvcache.Token) bool { return t < 0 }); i >= 0 {
			return chunk[:i]
		}
		return chunk
	}
	shape, row, _ := w.memory.Pieces.Shape(chunk[0])
	left := shape.Rows - row
	if shape.Whole {
		return w.album.Tokens[slices.IndexFunc(w.album.Pieces, func(p *piece.Piece) bool { return p.Shape == shape })]
	}
	return chunk[:min(len(chunk), left)]
}

// fill puts a chunk into a batch, with rows for its last token and for what is guessed.
func (w *randomWorld) fill(batch *scheduler.Batch, s *kvcache.Sequence, chunk []kvcache.Token, guessed int) {
	at, step := int32(s.Position()), int32(1)
	if shape, row, ok := w.memory.Pieces.Shape(chunk[0]); ok {
		batch.Piece, batch.FirstRow = w.memory.Pieces.Piece(chunk[0]), row
		if shape.Columns > 0 {
			step = 0
		}
	}
	for i, t := range chunk {
		batch.Add(t, at+int32(i)*step, s.ID(), batch.Piece == nil && i >= len(chunk)-1-guessed)
	}
}

// cut takes the end of a sequence back.
func (w *randomWorld) cut(r *randomRequest, n int) {
	had := r.seq.Len()
	kept := w.cache.Truncate(r.seq, n)
	if kept > n && kept > had || kept != r.seq.Len() {
		w.Fatalf("%d of %d tokens kept where %d were to be, the sequence has %d", kept, had, n, r.seq.Len())
	}
	r.held = kept
}

// rewind takes the end of an answer back, and puts something else there.
func (w *randomWorld) rewind(r *randomRequest) {
	n := 1 + w.border(r.tokens, w.rng.IntN(len(r.tokens)))
	w.cut(r, n-1)
	r.tokens = append(r.tokens[:n-1], kvcache.Token(1+w.rng.IntN(200)))
	r.prompt = min(r.prompt, n)
}

func (w *randomWorld) release(r *randomRequest) {
	w.forget(r)
	if w.rng.IntN(3) == 0 {
		w.cache.Drop(r.seq)
	} else {
		w.cache.Release(r.seq)
	}
	w.released = w.released || w.wanting
	r.name, r.seq = r.seq.Conversation(), nil
	if w.left = append(w.left, r); len(w.left) > 12 {
		w.left = w.left[1:]
	}
	if w.waiting == nil && w.rng.IntN(3) == 0 {
		again := *r // it was preempted
		again.tokens = slices.Clone(r.tokens)
		w.waiting = &again
	}
}

func (w *randomWorld) forget(r *randomRequest) {
	w.running = slices.DeleteFunc(w.running, func(other *randomRequest) bool { return other == r })
}

// export saves what a request has left.
func (w *randomWorld) export(r *randomRequest) {
	w.exported += int64(8 * len(r.tokens))
	w.note(w.cache.Export(r.name, r.scope.Salt, func(saved *kvcache.Saved, err error) {
		switch {
		case err != nil && (saved != nil || !errors.Is(err, kvcache.ErrNothingCached) && w.memory.panicked == 0):
			w.Errorf("exporting: %v", err)
		case err == nil && kvcache.CommonPrefix(saved.Tokens, r.tokens) < len(saved.Tokens):
			w.Errorf("%d tokens of %d are exported, and others", len(saved.Tokens), len(r.tokens))
		case err == nil:
			w.saved = append(w.saved, saved)
		}
	}))
}

func (w *randomWorld) restore() {
	if len(w.saved) == 0 {
		return
	}
	saved := w.saved[w.rng.IntN(len(w.saved))]
	if _, wait, err := w.cache.Import(saved); err != nil {
		w.Fatalf("importing: %v", err)
	} else if w.note(wait); wait == kvcache.WaitNone {
		if n := w.cache.LongestPrefix(append(slices.Clone(saved.Tokens), 1), saved.Scope); n != len(saved.Tokens) {
			w.Fatalf("%d tokens found of %d that were restored", n, len(saved.Tokens))
		}
	}
}

func (w *randomWorld) erase(r *randomRequest) {
	_, wait := w.cache.Erase(r.name, r.scope.Salt)
	if w.note(wait); wait == kvcache.WaitNone {
		w.cache.Export(r.name, r.scope.Salt, func(_ *kvcache.Saved, err error) {
			if !errors.Is(err, kvcache.ErrNothingCached) {
				w.Errorf("exporting what was erased: %v", err)
			}
		})
	}
}

// thaw brings back from the cold store what the request that waits can use.
func (w *randomWorld) thaw() {
	if w.cold == nil || w.waiting == nil {
		return
	}
	r := w.waiting
	found, ok := w.cold.Find(kvcache.DigestsWith(r.tokens, w.memory.Pieces), r.scope)
	if !ok {
		return
	}
	w.cold.Fetch(found.ID, r.scope, func(saved *kvcache.Saved, _ error) {
		defer func() { _ = saved.Close() }()
		wait, err := w.cache.Thaw(saved, kvcache.Claim{Tokens: r.tokens, Scope: r.scope})
		if err != nil && w.memory.panicked == 0 && len(w.album.Pieces) == 0 {
			w.Fatalf("thawing %d of %d tokens: %v", found.Usable, len(r.tokens), err)
		}
		w.note(wait)
	})
	w.cold.Deliver()
}

// offer lets conversations rest, and offers one, or all as at the end.
func (w *randomWorld) offer() {
	w.memory.Advance(time.Duration(w.rng.IntN(20)) * time.Second)
	if w.rng.IntN(20) == 0 {
		w.cache.OfferAll()
	} else {
		w.cache.OfferIdle()
	}
}

// act does one thing, and tells what and for which running request.
func (w *randomWorld) act() (step string, of *randomRequest, do func()) {
	r, old := one(w.rng, w.running), one(w.rng, w.left)
	switch n := w.rng.IntN(40); {
	case n < 12:
		return "acquire", nil, w.acquire
	case n == 12:
		return "save ahead", nil, w.cache.SaveAhead
	case n == 13 && w.rng.IntN(4) == 0:
		return "evict", nil, func() { w.cache.EvictIdle() }
	case n == 14 && old != nil:
		return "export", nil, func() { w.export(old) }
	case n == 15:
		return "import", nil, w.restore
	case n == 16 && old != nil:
		return "erase", nil, func() { w.erase(old) }
	case n == 17:
		return "offer", nil, w.offer
	case n == 18:
		return "thaw", nil, w.thaw
	case r == nil:
		return "look", nil, func() { w.cache.Prefixes(10) }
	case n < 21:
		return "rewind", r, func() { w.rewind(r) }
	case n < 23:
		return "release", r, func() { w.release(r) }
	case n < 25:
		return "want", r, func() { w.cache.Want(r.seq, w.rng.IntN(len(r.tokens)+1)) }
	case n < 28:
		return "checkpoint", r, func() { w.cache.Checkpoint(r.seq, time.Hour) }
	}
	return "compute", r, func() { w.compute(r) }
}

func runRandomWorlds(t *testing.T, odds int) {
	worlds, ticks := steadytest.InLongTest(5000, 50), steadytest.InLongTest(600, 150)
	for seed := steadytest.Seed(t); worlds > 0; seed, worlds = seed+1, worlds-1 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newRandomWorld(t, seed, odds)
			for range ticks {
				w.tick()
			}
			w.end()
		})
	}
}

// Books and memory agree, nothing that a request has is dropped, and what is found is what the
// model has computed of just these tokens, whatever is done to the cache.
func TestCache_RandomWork_KeepsItsPromises(t *testing.T) { runRandomWorlds(t, 0) }

// They do where any call of the memory may panic, before or after its work, but for the request
// that the call was for.
func TestCache_RandomWork_SurvivesPanics(t *testing.T) { runRandomWorlds(t, 30) }
