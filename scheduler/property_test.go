// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// world drives a scheduler with random arrivals, cancellations, pauses and slow readers on virtual time, and checks after
// every tick what must always hold.
type world struct {
	t       *testing.T
	rng     *rand.Rand
	backend *schedulertest.Backend
	s       *scheduler.Scheduler
	slots   int

	open    []*client
	started []*client // in the order of their first tick in a slot
	ticks   int
	ended   int
}

// client is one request with its reader.
type client struct {
	id, priority int
	st           *scheduler.Stream
	answer       answer
	paused, slow bool
	hurt         bool // cancelled, paused, slow, or it waited for an equal prompt: order and latency are its own doing
	computed     int
	hungry       int // ticks in which it prefilled nothing while others computed
}

func newWorld(t *testing.T, seed uint64) *world {
	rng := rand.New(rand.NewPCG(seed, 7))
	cells := []int{512, 2048, 8192}[rng.IntN(3)]
	b := schedulertest.New(scheduler.Limits{Cells: cells, Context: cells, Batch: []int{64, 512}[rng.IntN(2)], Sequences: 24, Apart: rng.IntN(2) == 0, Adjacent: rng.IntN(2) == 0})
	b.Cost = schedulertest.Measured.Cost
	b.CopyCost = time.Duration(rng.IntN(3)) * 20 * time.Microsecond
	b.NoSharing, b.NoCutting = rng.IntN(4) == 0, rng.IntN(8) == 0
	if rng.IntN(3) == 0 {
		b.End = cells / 3
	}
	w := &world{t: t, rng: rng, backend: b, slots: 1 + rng.IntN(8)}
	strategies := []scheduler.Strategy{scheduler.DecodeMaximal{}, scheduler.Balanced{}, scheduler.PrefillPriority{}}
	w.s = newScheduler(t, b, scheduler.Config{Slots: w.slots, QueueLimit: 32, ArchiveBytes: int64(rng.IntN(3)) << 13, Strategy: strategies[rng.IntN(3)]})
	return w
}

func (w *world) arrive() {
	longest := w.backend.Limits().Context
	r := request(1+w.rng.IntN(longest/2), w.rng.IntN(4), w.rng.IntN(longest/4))
	r.Priority = w.rng.IntN(3) - 1
	r.Buffer = 8
	if w.rng.IntN(10) == 0 {
		r.Overflow = scheduler.OverflowPolicy(w.rng.IntN(3))
	}
	st, err := w.s.Submit(r)
	if err != nil {
		return // the queue is full
	}
	c := &client{id: w.ended + len(w.open), priority: r.Priority, st: st}
	c.slow = w.rng.IntN(6) == 0
	c.hurt = c.slow || r.Overflow != scheduler.Park
	w.open = append(w.open, c)
}

// disturb does something a client may do at any time.
func (w *world) disturb() {
	if len(w.open) == 0 {
		return
	}
	c := w.open[w.rng.IntN(len(w.open))]
	switch w.rng.IntN(4) {
	case 0:
		c.st.Cancel()
		c.hurt = true
	case 1:
		c.hurt, c.paused = true, true
		_ = control(w.t, w.s, c.st.Pause)
	case 2:
		c.paused = false
		_ = control(w.t, w.s, c.st.Resume)
	case 3:
		c.slow = !c.slow
		c.hurt = true
	}
}

func (w *world) tick() bool {
	w.ticks++
	busy := w.s.Tick()
	if got, want := scheduler.Held(w.s), w.backend.Used(); got != want {
		w.t.Fatalf("tick %d: the books have %d cells in use, the cache %d", w.ticks, got, want)
	}
	kept := w.open[:0]
	for _, c := range w.open {
		c.hurt = c.hurt || scheduler.Followed(c.st)
		if !c.slow || w.rng.IntN(20) == 0 {
			before := len(c.answer.events)
			c.answer.read(c.st)
			if before == 0 && len(c.answer.events) > 0 && c.answer.events[0].Kind == scheduler.KindStarted {
				w.started = append(w.started, c)
			}
		}
		if c.answer.end == nil {
			kept = append(kept, c)
			continue
		}
		w.ended++
		if _, more := c.st.TryNext(); more {
			w.t.Fatalf("request %d: an event after the end", c.id)
		}
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
			if c.st.ID() != slot.Stream {
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

// settle lets everybody finish.
func (w *world) settle() {
	for range 1_000_000 {
		for _, c := range w.open {
			c.slow = false
			if c.paused {
				c.paused = false
				_ = control(w.t, w.s, c.st.Resume)
			}
		}
		busy := w.tick()
		if len(w.open) == 0 {
			return
		}
		if !busy && !w.tick() && !w.tick() && len(w.open) > 0 {
			w.t.Fatalf("%d requests have not ended and there is nothing to compute", len(w.open))
		}
	}
	w.t.Fatal("the requests do not end")
}

// inOrder checks that requests of one priority, left alone, began in the order they came.
func (w *world) inOrder() {
	last := map[int]int{}
	for _, c := range w.started {
		if c.hurt {
			continue
		}
		if c.id < last[c.priority] {
			w.t.Errorf("request %d of priority %d began after %d", c.id, c.priority, last[c.priority])
		}
		last[c.priority] = c.id
	}
}

// TestScheduler_RandomWork_KeepsItsPromises: every request ends exactly once, no cell leaks, no slot starves, the order
// within a priority holds; the backend itself refuses a pass over its limits or a position out of order.
func TestScheduler_RandomWork_KeepsItsPromises(t *testing.T) {
	worlds, ticks := 20, 150
	if os.Getenv("PENSTOCK_TEST_LONG") != "" {
		worlds, ticks = 1000, 3000
	}
	for seed := range worlds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWorld(t, uint64(seed))
			for range ticks {
				for w.rng.IntN(3) == 0 {
					w.arrive()
				}
				if w.rng.IntN(5) == 0 {
					w.disturb()
				}
				w.tick()
				w.backend.Advance(time.Duration(w.rng.IntN(5)) * time.Millisecond)
			}
			w.settle()
			w.inOrder()
		})
	}
}
