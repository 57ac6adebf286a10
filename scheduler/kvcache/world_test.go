// SPDX-License-Identifier: MIT

package kvcache_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// randomWorld does to a cache at random what a scheduler does, and checks after each step what
// must always hold.
type randomWorld struct {
	*testing.T
	rng      *rand.Rand
	memory   *fragile
	album    schedulertest.Album
	cache    *kvcache.Cache
	bytes    int64 // that archive and checkpoints may take
	waiting  *randomRequest
	running  []*randomRequest
	left     []*randomRequest // have ended, with what they left
	saved    []*kvcache.Saved
	exported int64               // bytes that these may take
	cold     *schedulertest.Cold // nil: there is none
	coldCopy int64               // bytes of what is on its way there, or back
	step     string

	awaited, wanting, released bool // somebody waits for a copy, or for room, and a sequence was released since
}

// randomRequest is one that waits, runs or has ended.
type randomRequest struct {
	tokens  []kvcache.Token // its prompt and answer; the last one is never computed
	prompt  int
	scope   kvcache.Scope
	started bool
	seq     *kvcache.Sequence
	held    int // of seq, as far as it is known
	name    uint64
}

func newRandomWorld(t *testing.T, seed uint64, odds int) *randomWorld {
	rng := rand.New(rand.NewPCG(seed, 11))
	cells := 300 << rng.IntN(3)
	b := schedulertest.New(scheduler.Limits{Cells: cells, Context: cells, Batch: 128, Sequences: 1 + rng.IntN(6)})
	b.CopyCost = time.Duration(rng.IntN(3)) * 50 * time.Microsecond
	b.NoSharing, b.NoCutting = rng.IntN(5) == 0, rng.IntN(6) == 0
	o := kvcache.Options{Cells: cells, Sequences: b.Limits().Sequences, Pieces: b.Pieces, ArchiveBytes: []int64{0, 3000, 12000, 1 << 20}[rng.IntN(4)], Clock: b.Now}
	if kind := rng.IntN(4); kind < 2 {
		b.NoCutting, b.Recurrent = false, kind == 0
		b.Window, b.Slack, b.Snapshots = kind*32, rng.IntN(40), rng.IntN(2)*6
		b.CheckpointCost = time.Duration(rng.IntN(2)) * time.Millisecond
		o.Checkpoints = kvcache.CheckpointOptions{Most: rng.IntN(8), MinStep: 16 << rng.IntN(4), Bytes: 64 << rng.IntN(6)}
	}
	var cold *schedulertest.Cold
	if rng.IntN(2) == 0 {
		cold = schedulertest.NewCold(b)
		cold.Refuses = func() bool { n, _ := cold.Kept(); return n > 4 || rng.IntN(3) == 0 }
		o.Cold, o.LeastCold = cold, 16
	}
	f := &fragile{Backend: b, rng: rng, odds: odds, threaded: rng.IntN(2) == 0}
	w := &randomWorld{T: t, rng: rng, memory: f, album: b.NewAlbum(rng, rng.IntN(2)*5, 40), bytes: o.ArchiveBytes + o.Checkpoints.Bytes, cold: cold}
	if cold != nil {
		w.coldCopy = int64(8*cells) + o.Checkpoints.Bytes
	}
	if w.cache = kvcache.New(f, o); rng.IntN(2) == 0 {
		w.cache = kvcache.New(fragilePlacer{f}, o)
	}
	return w
}

// note notes that somebody was told to wait.
func (w *randomWorld) note(wait kvcache.Wait) {
	w.awaited = w.awaited || wait == kvcache.WaitCopy
	w.wanting = w.wanting || wait == kvcache.WaitRoom
}

// next checks that there is a next tick for those who were told to wait.
func (w *randomWorld) next() {
	at, ok := w.cache.Next()
	switch {
	case (w.awaited || w.wanting && w.released) && !ok:
		w.Fatalf("nobody looks again, though somebody waits for a copy (%v) or for room (%v)", w.awaited, w.wanting)
	case ok && !at.After(w.memory.Now()):
		w.awaited, w.wanting, w.released = false, false, false
	}
}

// tick does a few things within one tick. What panics ends its request, as in the scheduler.
func (w *randomWorld) tick() {
	limit := time.Duration(w.rng.IntN(4)) * time.Millisecond
	if w.rng.IntN(4) == 0 {
		limit = time.Hour
	}
	w.do("begin", nil, func() {
		w.cache.BeginTick(kvcache.CopyTime{Archive: limit, Prefix: limit, Ahead: limit, Here: w.rng.IntN(2) == 0})
	})
	for range 1 + w.rng.IntN(6) {
		w.do(w.act())
	}
	w.next()
}

func (w *randomWorld) do(step string, r *randomRequest, f func()) {
	w.step = step
	if w.survives(f) {
		if r == nil && step == "acquire" {
			w.waiting = nil
		}
		if r != nil && r.seq != nil {
			w.survives(func() { w.cache.Repair(r.seq) })
			w.forget(r)
			w.cache.Release(r.seq)
			r.seq, w.released = nil, w.released || w.wanting
		}
	}
	w.check()
}

// survives does something that may panic, and reports whether it has.
func (w *randomWorld) survives(f func()) (panicked bool) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case broken:
			panicked = true
		default:
			panic(v)
		}
	}()
	f()
	return false
}

func (w *randomWorld) check() {
	if got, want := w.memory.Limits().Cells-w.cache.Free(), w.memory.Used(); got != want && !kvcache.Unsure(w.cache) {
		w.Fatalf("%s: the books have %d cells in use, the memory %d", w.step, got, want)
	}
	if got, most := int64(w.memory.StateBytes), w.bytes+w.exported+w.coldBytes(); got > most {
		w.Fatalf("%s: states have %d bytes of %d", w.step, got, most)
	}
	for _, r := range w.running {
		if r.seq.Len() != r.held {
			w.Fatalf("%s: a request in sequence %d has %d tokens, and had %d", w.step, r.seq.ID(), r.seq.Len(), r.held)
		}
	}
}

// coldBytes is what the states may take that the cold store has, or is offered.
func (w *randomWorld) coldBytes() int64 {
	if w.cold == nil {
		return 0
	}
	_, bytes := w.cold.Kept()
	return int64(bytes) + w.coldCopy
}

// end ends everything: nothing may be left.
func (w *randomWorld) end() {
	w.memory.odds = 0
	for len(w.running) > 0 {
		w.release(w.running[0])
	}
	w.cache.EvictIdle()
	if w.check(); w.cache.Free() != w.memory.Limits().Cells || kvcache.Unsure(w.cache) {
		w.Errorf("%d cells are free in the end", w.cache.Free())
	}
	w.cache.BeginTick(patient)
	for range w.memory.Limits().Sequences { // none of them is lost
		if s, _ := w.cache.Acquire(kvcache.Claim{Tokens: []kvcache.Token{1}}); s == nil {
			w.Error("a sequence is lost")
		}
	}
	for _, s := range w.saved {
		_ = s.Close()
	}
	if w.cold != nil {
		w.cold.Clear()
	}
	if w.cache.Close(); w.memory.States != 0 || w.memory.StateBytes != 0 {
		w.Errorf("%d states with %d bytes are left", w.memory.States, w.memory.StateBytes)
	}
}
