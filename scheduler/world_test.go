// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/estimator"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// simulated is a backend on virtual time.
type simulated interface {
	scheduler.Backend
	Now() time.Time
}

// world drives a scheduler with random arrivals, plugins, control calls, slow and lost readers and failing passes on virtual
// time, and checks after every tick what must always hold.
type world struct {
	t       *testing.T
	rng     *rand.Rand
	backend *schedulertest.Backend
	s       *scheduler.Scheduler
	slots   int
	bytes   int64 // that archive and checkpoints may take

	adapters int // sets of them that requests choose from

	calls   sync.WaitGroup // control calls that wait for their answer
	failing bool           // passes fail now and then
	counts  tokenCounter

	open    []*client
	started []*client // in the order of their first tick in a slot
	ticks   int
	ended   int
}

// client is one request with its reader.
type client struct {
	id, priority int
	st           *scheduler.Stream
	request      scheduler.Request
	answer       received
	paused, slow bool
	begun        bool // its first event was seen
	rewound      bool // it was asked to take tokens back
	hurt         bool // cancelled, paused, slow, or it waited for an equal prompt: order and latency are its own doing
	computed     int
	hungry       int // ticks in which it prefilled nothing while others computed
}

func newWorld(t *testing.T, seed uint64) *world {
	rng := rand.New(rand.NewPCG(seed, 7))
	cells := []int{512, 2048, 8192}[rng.IntN(3)]
	b := schedulertest.New(scheduler.Limits{Cells: cells, Context: cells, Batch: []int{64, 512}[rng.IntN(2)], Sequences: 24, SeparatePasses: rng.IntN(2) == 0})
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
	w := &world{t: t, rng: rng, backend: b, slots: 1 + rng.IntN(8), adapters: rng.IntN(2) * 2}
	if w.failing = rng.IntN(3) == 0; w.failing {
		b.Fail = w.fail
	}
	strategies := []estimator.Strategy{estimator.DecodeMaximal{}, estimator.Balanced{}, estimator.PrefillPriority{}}
	archive := int64(rng.IntN(3)) << 13
	w.bytes = archive + checkpoints.Bytes
	drafter := anyDrafter(b, rng)
	w.s = newScheduler(t, placed, scheduler.Config{Drafter: drafter, Log: logOf(drafter), Slots: w.slots, QueueLimit: 32, ArchiveBytes: archive, Checkpoints: checkpoints, Strategy: strategies[rng.IntN(3)], Observer: &w.counts})
	return w
}

func (w *world) arrive() {
	longest := w.backend.Limits().Context
	r := request(1+w.rng.IntN(longest/2), w.rng.IntN(4), w.rng.IntN(longest/4))
	r.Priority = w.rng.IntN(3) - 1
	r.Buffer = 8
	r.Keep = w.rng.IntN(4) == 0
	if n := w.rng.IntN(w.adapters + 1); n > 0 {
		r.Adapters = schedulertest.Adapters(strconv.Itoa(n))
		r.AdaptersFrom = w.rng.IntN(2) * w.rng.IntN(len(r.Prompt[0].Tokens)+1)
	}
	w.embellish(&r)
	if w.rng.IntN(10) == 0 {
		r.Overflow = scheduler.OverflowPolicy(w.rng.IntN(3))
	}
	st, err := w.s.Submit(r)
	if err != nil {
		return // the queue is full
	}
	c := &client{id: w.ended + len(w.open), priority: r.Priority, st: st, request: r}
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
	switch w.rng.IntN(7) {
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
	case 4:
		tokens := foreign[:1+w.rng.IntN(len(foreign))]
		w.call(func(ctx context.Context) error { return c.st.Inject(ctx, tokens) })
	case 5:
		c.rewound = true
		n := 1 + w.rng.IntN(4)
		w.call(func(ctx context.Context) error { return c.st.Rewind(ctx, n) })
	case 6:
		w.lose(c)
	}
}

func (w *world) tick() bool {
	w.ticks++
	busy := w.s.Tick()
	if w.ticks%5 == 0 {
		scheduler.SnapshotWithTicks(w.s, 3) // whoever looks disturbs nothing
	}
	if got, want := scheduler.Held(w.s), w.backend.Used(); got != want {
		w.t.Fatalf("tick %d: the books have %d cells in use, the cache %d", w.ticks, got, want)
	}
	if got := int64(w.backend.StateBytes); got > w.bytes {
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

// embellish gives some requests more than a native chain.
func (w *world) embellish(r *scheduler.Request) {
	rng := rand.New(rand.NewPCG(w.rng.Uint64(), 1)) // stages have their own: they run beside the tick
	switch w.rng.IntN(4) {
	case 0:
		r.Chain = []chain.Stage{&weaver{rng: rng, hold: w.rng.IntN(3) * w.rng.IntN(30)}, schedulertest.Sampled{}}
	case 1:
		r.Rules = []answer.StopRule{&withholder{rng: rng}}
	case 2:
		r.Stop = []string{"1 1"} // the beginning of it is common
	}
}

// call makes a control call that may have to wait for a reader or for stages.
func (w *world) call(f func(context.Context) error) {
	w.calls.Go(func() {
		err := f(w.t.Context())
		for _, expected := range []error{nil, scheduler.ErrEnded, scheduler.ErrBadRequest, context.Canceled} {
			if errors.Is(err, expected) {
				return
			}
		}
		w.t.Error(err)
	})
}

// lose makes a client lose some of what it has read, and come back for it.
func (w *world) lose(c *client) {
	n := len(c.answer.events)
	if !c.request.Keep || c.request.Overflow == scheduler.DropOldest || n == 0 {
		return
	}
	seen := c.answer.events[:w.rng.IntN(n)]
	if err := c.st.Attach(int64(len(seen)) - 1); err != nil {
		w.t.Fatalf("request %d after event %d of %d: %v", c.id, len(seen)-1, n, err)
	}
	c.answer = received{}
	for _, e := range seen {
		c.answer.take(e)
	}
}

// errFlaky fails a pass.
var errFlaky = errors.New("flaky")

func (w *world) fail(*scheduler.Batch) error {
	switch w.rng.IntN(60) {
	case 0:
		return errFlaky
	case 1:
		return scheduler.ErrNoCells
	}
	return nil
}

// complaints is where a scheduler logs that should not: panics.
type complaints struct{ t testing.TB }

func (c complaints) Write(line []byte) (int, error) {
	c.t.Errorf("%s", line)
	return len(line), nil
}
