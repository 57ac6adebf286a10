// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/estimator"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/piece"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// simulated is a backend on virtual time.
type simulated interface {
	scheduler.Backend
	Now() time.Time
	Table() *piece.Table
}

// world drives a scheduler with random arrivals, plugins, control calls, slow and lost readers and
// failing passes on virtual time, and checks after every tick what must always hold.
type world struct {
	t       *testing.T
	rng     *rand.Rand
	backend *schedulertest.Backend
	s       *scheduler.Scheduler
	slots   int
	bytes   int64 // that archive and checkpoints may take

	adapters int                 // sets of them that requests choose from
	album    schedulertest.Album // of pictures for prompts

	calls   sync.WaitGroup // control calls that wait for their answer
	saving  atomic.Int32   // conversations that are, or are to be, outside the cache
	failing bool           // passes fail now and then
	lost    bool           // the backend was lost once
	bombs   bool           // the code of some requests panics
	scripts int            // one in so many requests has a program
	shifts  bool           // some contexts are shifted: that is computed again and again
	lives   lifetimes      // of the samplers of programs
	counts  tokenCounter
	woken   bool // since the last tick

	open    []*client
	started []*client // in the order of their first tick in a slot
	ticks   int
	passed  atomic.Int64 // ticks, for programs
	ended   int
	work    int // tokens of what has ended
}

// client is one request with its reader.
type client struct {
	id, priority int
	st           *scheduler.Stream
	request      scheduler.Request
	answer       received
	paused, slow bool
	begun        bool    // its first event was seen
	rewound      bool    // it was asked to take tokens back
	steered      bool    // that, or to take some in
	unable       bool    // its plugin cannot begin
	bombed       bool    // some of its code panics
	hurt         bool    // cancelled, paused, slow, or it waited for an equal prompt: order and latency are its own doing
	script       *script // the program that writes its answer
	computed     int
	hungry       int // ticks in which it prefilled nothing while others computed
}

func newWorld(t *testing.T, seed uint64) *world {
	rng := rand.New(rand.NewPCG(seed, 7))
	cells, batch := []int{512, 2048, 8192}[rng.IntN(3)], []int{64, 512}[rng.IntN(2)]
	crowded := rng.IntN(2) == 0
	if crowded {
		cells, batch = 96<<rng.IntN(3), 16<<rng.IntN(2)
	}
	b := schedulertest.New(scheduler.Limits{Cells: cells, Context: cells, Batch: batch, Sequences: 24, Rows: []int{16, 256}[rng.IntN(2)], SeparatePasses: rng.IntN(2) == 0})
	placed := simulated(b)
	if rng.IntN(2) == 0 {
		placed = schedulertest.Nearest{Backend: b}
	}
	b.Cost = schedulertest.Measured.Cost
	if rng.IntN(2) == 0 {
		b.Cost = flat // drafts pay there
	}
	b.CopyCost = time.Duration(rng.IntN(3)) * 20 * time.Microsecond
	b.NoSharing, b.NoCutting = rng.IntN(4) == 0, rng.IntN(8) == 0
	var checkpoints kvcache.CheckpointOptions
	if kind := rng.IntN(6); kind < 2 {
		b.NoCutting, b.Recurrent = false, kind == 0
		b.Window, b.Slack = kind*16, rng.IntN(32)
		b.CheckpointCost = time.Duration(rng.IntN(3)) * time.Millisecond
		checkpoints = kvcache.CheckpointOptions{Most: rng.IntN(8), MinStep: 16 << rng.IntN(4), Bytes: 64 << rng.IntN(6)}
	}
	if rng.IntN(3) == 0 {
		b.End = cells / 3
	}
	w := &world{t: t, rng: rng, backend: b, slots: 1 + rng.IntN(8), adapters: rng.IntN(2) * 2, album: b.NewAlbum(rng, rng.IntN(2)*6, min(40, batch)), scripts: 6}
	if crowded {
		w.slots, w.scripts, w.adapters = 2+rng.IntN(15), 1+rng.IntN(3), rng.IntN(3)
	}
	w.shifts = rng.IntN(2) == 0
	if w.bombs = rng.IntN(4) == 0; w.bombs {
		w.scripts = 3
	}
	if w.failing = rng.IntN(3) == 0; w.failing {
		b.Fail = w.fail
	}
	strategies := []estimator.Strategy{estimator.DecodeMaximal{}, estimator.Balanced{}, estimator.PrefillPriority{}}
	archive := int64(rng.IntN(3)) << 13
	w.bytes = archive + checkpoints.Bytes
	drafter := anyDrafter(b, rng)
	w.s = newScheduler(t, placed, scheduler.Config{Drafter: drafter, Log: w.log(drafter), Slots: w.slots, QueueLimit: 32, ArchiveBytes: archive, Checkpoints: checkpoints, Strategy: strategies[rng.IntN(3)], Observer: &w.counts})
	return w
}

func (w *world) tick() bool {
	w.ticks++
	w.passed.Add(1)
	sleeps, passes := scheduler.Sleeps(w.s) && !w.woken, w.backend.Passes
	busy := w.s.Tick()
	w.woken = !scheduler.Sleeps(w.s)
	if sleeps && !w.woken && w.backend.Passes > passes {
		w.t.Fatalf("tick %d computes, and nothing would have woken it", w.ticks)
	}
	if w.ticks%5 == 0 {
		scheduler.SnapshotWithTicks(w.s, 3) // whoever looks disturbs nothing
	}
	if got, want := scheduler.Held(w.s), w.backend.Used(); got != want {
		w.t.Fatalf("tick %d: the books have %d cells in use, the cache %d", w.ticks, got, want)
	}
	if got := int64(w.backend.StateBytes); w.saving.Load() == 0 && got > w.bytes {
		w.t.Fatalf("tick %d: archive and checkpoints take %d bytes of %d", w.ticks, got, w.bytes)
	}
	if got, want := w.counts.tokens, w.backend.Tokens; !w.failing && got != want {
		w.t.Fatalf("tick %d: the records of all ticks have %d tokens, the passes had %d", w.ticks, got, want)
	}
	kept := w.open[:0]
	for _, c := range w.open {
		c.hurt = c.hurt || scheduler.Followed(c.st)
		if !c.slow || w.rng.IntN(20) == 0 {
			c.answer.read(c.st)
			if !c.begun && len(c.answer.events) > 0 && c.answer.events[0].Kind == scheduler.KindStarted {
				c.begun = true
				w.started = append(w.started, c)
			}
		}
		if c.answer.end == nil {
			kept = append(kept, c)
			continue
		}
		w.ended++
		u := c.answer.end.Usage
		w.work += u.Prompt + u.Generated + u.Branches
		if _, more := c.st.TryNext(); more {
			w.t.Fatalf("request %d: an event after the end", c.id)
		}
		w.verify(c)
	}
	w.open = kept
	w.starvation()
	return busy
}

// starvation checks that a slot with a prompt to compute gets some of every few ticks.
func (w *world) starvation() {
	snap := scheduler.SnapshotOf(w.s)
	for _, slot := range snap.Slots {
		for _, c := range w.open {
			if c.st.ID() != slot.Stream || c.script != nil {
				continue
			}
			if slot.State != "prefilling" || slot.Computed != c.computed {
				c.hungry = 0
			} else if c.hungry++; c.hungry > 64*w.slots {
				w.t.Fatalf("request %d has waited in its slot for %d ticks at %d of %d tokens", c.id, c.hungry, slot.Computed, slot.Prompt)
			}
			c.computed = slot.Computed
		}
	}
}

// complaints is where a scheduler logs that should not: panics.
type complaints struct{ t testing.TB }

func (c complaints) Write(line []byte) (int, error) {
	c.t.Errorf("%s", line)
	return len(line), nil
}
