// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/draft"
	"github.com/penstock/penstock/scheduler/estimator"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/panics"
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
	bytes   int64               // that archive and checkpoints may take
	cold    *schedulertest.Cold // nil: there is none

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
	b := schedulertest.New(scheduler.Limits{HiddenState: stateWidth, Cells: cells, Context: cells, Batch: batch, Sequences: 24, Rows: []int{16, 256}[rng.IntN(2)], SeparatePasses: rng.IntN(2) == 0})
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
	c := scheduler.Config{Slots: w.slots, QueueLimit: 32, ArchiveBytes: archive, Checkpoints: checkpoints, Observer: &w.counts}
	if rng.IntN(3) == 0 {
		w.cold = schedulertest.NewCold(b)
		w.cold.Refuses = func() bool { n, _ := w.cold.Kept(); return n > 8 || rng.IntN(4) == 0 }
		w.bytes += 3 * (int64(8*cells) + checkpoints.Bytes) // of one that is being copied, and those that wait for their request
		c.Cold, c.LeastCold, c.ArchiveBytes = w.cold, 16, 0 // so that more is asked for
	}
	c.Drafter = anyDrafter(b, rng)
	c.Log, c.Strategy = w.log(c.Drafter), strategies[rng.IntN(3)]
	w.s = newScheduler(t, placed, c)
	return w
}

func (w *world) tick() bool {
	w.ticks++
	w.passed.Add(1)
	if w.cold != nil && w.rng.IntN(2) == 0 {
		w.woken = w.cold.Deliver() || w.woken
	}
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
	most := w.bytes
	if w.cold != nil {
		_, bytes := w.cold.Kept()
		most += int64(bytes)
	}
	if got := int64(w.backend.StateBytes); w.saving.Load() == 0 && got > most {
		w.t.Fatalf("tick %d: archive, checkpoints and cold store take %d bytes of %d", w.ticks, got, most)
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

// arrive submits a request of any kind, or several choices of one.
func (w *world) arrive() {
	r := w.request()
	c := &client{request: r, slow: w.rng.IntN(6) == 0}
	w.embellish(c)
	if w.rng.IntN(4) == 0 {
		w.fork(&c.request)
	}
	if w.rng.IntN(w.scripts) == 0 {
		w.scripted(c)
	}
	choices := 1
	if len(c.request.Rules) == 0 && len(c.request.Chain) == 1 && c.script == nil && w.rng.IntN(6) == 0 {
		choices += w.rng.IntN(3)
	}
	streams, err := w.s.SubmitAll(slices.Repeat([]scheduler.Request{c.request}, choices))
	if err != nil {
		return // the queue is full, or a fork is too long
	}
	for _, st := range streams {
		one := *c
		one.id, one.priority, one.st = w.ended+len(w.open), c.request.Priority, st
		one.hurt = c.slow || c.request.Overflow != scheduler.Park || c.request.Slot != nil || c.script != nil
		w.open = append(w.open, &one)
	}
}

// request is one without plugins.
func (w *world) request() scheduler.Request {
	longest := w.backend.Limits().Context
	r := request(1+w.rng.IntN(longest/2), w.rng.IntN(4), w.rng.IntN(longest/4))
	r.Priority = w.rng.IntN(3) - 1
	r.Caller = []string{"", "one", "two"}[w.rng.IntN(3)]
	r.Buffer = 8
	r.Progress = w.rng.IntN(4) == 0
	if w.rng.IntN(5) == 0 {
		r = judged(r)
		r.NoAnswer = w.rng.IntN(3) == 0
	}
	if len(w.album.Pieces) > 0 && !r.PromptLogprobs && w.rng.IntN(2) == 0 {
		r = pictured(w.rng, &w.album, r)
	}
	r.CachePrompt = w.rng.IntN(5) > 0
	if w.rng.IntN(4) == 0 {
		r.CacheSalt = strconv.Itoa(w.rng.IntN(2))
	}
	if n := w.rng.IntN(w.adapters + 1); n > 0 {
		r.Adapters = schedulertest.Adapters(strconv.Itoa(n))
		r.AdaptersFrom = w.border(r.Prompt[0].Tokens, w.rng.IntN(2)*w.rng.IntN(len(r.Prompt[0].Tokens)+9))
	}
	if w.shifts && w.rng.IntN(3) == 0 {
		r.Shift = &answer.Shift{Keep: w.rng.IntN(3)*8 - 1, Discard: w.rng.IntN(2) * w.rng.IntN(20)}
		r.MaxTokens = 1 + w.rng.IntN(longest)
	}
	if w.rng.IntN(5) == 0 {
		slot := w.rng.IntN(w.slots)
		r.Slot = &slot
	}
	if w.rng.IntN(8) == 0 {
		r.Deadline = w.backend.Now().Add(time.Duration(w.rng.IntN(4000)) * time.Millisecond)
	}
	if w.rng.IntN(6) == 0 {
		r.MostDrafted, r.LeastDrafted = w.rng.IntN(6)-1, w.rng.IntN(3)
	}
	if w.rng.IntN(10) == 0 {
		r.Overflow = scheduler.OverflowPolicy(w.rng.IntN(3))
	}
	return r
}

// pictured puts up to three pictures into the prompt of a request.
func pictured(rng *rand.Rand, album *schedulertest.Album, r scheduler.Request) scheduler.Request {
	r.Prompt = []scheduler.Segment{{Tokens: album.Into(rng, r.Prompt[0].Tokens, 1+rng.IntN(3))}}
	r.Pieces = album.Pieces
	return r
}

// border is where a list of tokens may be cut.
func (w *world) border(tokens []scheduler.Token, n int) int {
	return w.backend.Pieces.Border(tokens, n)
}

// embellish gives some requests more than a native chain.
func (w *world) embellish(c *client) {
	rng := rand.New(rand.NewPCG(w.rng.Uint64(), 1)) // stages have their own: they run beside the tick
	r := &c.request
	switch w.rng.IntN(16) {
	case 0, 1, 2, 3:
		r.Chain = []chain.Stage{&weaver{rng: rng, hold: w.rng.IntN(3) * w.rng.IntN(30)}, schedulertest.Sampled{}}
	case 4, 5, 6, 7:
		r.Rules = []answer.StopRule{&withholder{rng: rng}}
	case 8, 9, 10, 11:
		r.Stop = []string{"1 1"} // the beginning of it is common
	case 12:
		c.unable, r.Chain = true, unable(nil)
	case 13, 14:
		if w.bombs {
			c.bombed, r.Chain = true, []chain.Stage{w.bomb()}
		}
	}
}

// bomb is a stage that panics at one of its calls.
func (w *world) bomb() *bomb {
	b := &bomb{native: w.rng.IntN(2) == 0, at: bombMethods[w.rng.IntN(len(bombMethods))], left: new(atomic.Int32)}
	b.left.Store(1 + w.rng.Int32N(12))
	return b
}

// log is where the scheduler logs: panics are complaints, but for those of bombs.
func (w *world) log(d draft.Drafter) *slog.Logger {
	if w.bombs {
		return discard
	}
	return logOf(d)
}

// fork makes a request go on somewhere in the answer to another.
func (w *world) fork(r *scheduler.Request) {
	if len(w.open) == 0 {
		return
	}
	c := w.open[w.rng.IntN(len(w.open))]
	if n := len(c.answer.tokens); c.script == nil && c.request.Shift == nil && r.Shift == nil && n > 0 && !c.answer.missed {
		r.Prompt, r.Pieces, r.Begun.Tokens = c.request.Prompt, c.request.Pieces, slices.Clone(c.answer.tokens[:w.rng.IntN(n+1)])
		r.Adapters, r.AdaptersFrom, r.CacheSalt = c.request.Adapters, c.request.AdaptersFrom, c.request.CacheSalt
	}
}

// disturb does something a client, an operator or a machine may do at any time.
func (w *world) disturb() {
	switch n := w.rng.IntN(12); {
	case n == 0:
		w.saveSlot(w.rng.IntN(w.slots), w.rng.IntN(w.slots), w.rng.IntN(2) == 0)
	case n == 1:
		slot := w.rng.IntN(w.slots)
		w.call(func(ctx context.Context) error { _, err := w.s.EraseSlot(ctx, slot, ""); return err })
	case n == 2 && w.rng.IntN(8) == 0:
		w.loseBackend()
	case n == 3:
		scheduler.PreemptOne(w.s, w.rng.IntN(16))
	case len(w.open) > 0:
		w.steer(w.open[w.rng.IntN(len(w.open))])
	}
}

// steer does something to one answer.
func (w *world) steer(c *client) {
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
		c.steered = true
		tokens := foreign[:1+w.rng.IntN(len(foreign))]
		w.call(func(ctx context.Context) error { return c.st.Inject(ctx, tokens) })
	case 5:
		c.rewound, c.steered = true, true
		n := 1 + w.rng.IntN(4)
		w.call(func(ctx context.Context) error { return c.st.Rewind(ctx, n) })
	case 6:
		if len(c.request.Rules) == 0 && len(c.request.Chain) == 1 {
			stages := [][]chain.Stage{{schedulertest.Sampled{}}, {schedulertest.Greedy{}}}[w.rng.IntN(2)]
			w.call(func(ctx context.Context) error { return c.st.SetChain(ctx, stages) })
		}
	}
}

// saveSlot saves the conversation of a slot, and may restore it in another.
func (w *world) saveSlot(from, to int, restored bool) {
	w.saving.Add(1)
	w.call(func(ctx context.Context) error {
		defer w.saving.Add(-1)
		saved, err := w.s.SaveSlot(ctx, from, "")
		if err != nil {
			return err
		}
		if restored {
			err = w.s.RestoreSlot(ctx, to, saved)
		}
		return errors.Join(err, scheduler.Do(ctx, w.s, func() { _ = saved.Close() })) // the backend of these tests is the tick's
	})
}

// loseBackend has the backend come back empty after a few ticks.
func (w *world) loseBackend() {
	_ = control(w.t, w.s, func(context.Context) error { w.s.Lose(fmt.Errorf("%w: gone", scheduler.ErrLost)); return nil })
	w.lost = true
	for seq := range int32(w.backend.Limits().Sequences) {
		w.backend.Truncate(seq, 0)
	}
	for range w.rng.IntN(3) {
		w.tick()
	}
	w.s.Revive()
}

// call makes a call that may have to wait for a reader, for stages or for a slot.
func (w *world) call(f func(context.Context) error) {
	w.calls.Go(func() {
		err := f(w.t.Context())
		for _, expected := range []error{nil, scheduler.ErrEnded, scheduler.ErrBadRequest, scheduler.ErrLost, context.Canceled, errBegin,
			kvcache.ErrNothingCached, kvcache.ErrNoStates, kvcache.ErrState} {
			if errors.Is(err, expected) {
				return
			}
		}
		if !w.bombs || !errors.As(err, new(*panics.Error)) {
			w.t.Error(err)
		}
	})
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

// foreign are the tokens that clients and plugins put into answers.
var foreign = []scheduler.Token{250, 251, 252, 253, 254, 255}

// weaver is a plugin's stage that forces foreign tokens now and then, or takes back some of the
// answer and puts them in its place.
type weaver struct {
	schedulertest.Greedy
	rng     *rand.Rand
	hold    int
	length  int // of the answer
	spliced int // tokens of its own splice that it has yet to be told of
}

func (w *weaver) Traits() chain.Traits {
	return chain.Traits{Prepares: w.hold%2 == 0, Hold: w.hold}
}

func (w *weaver) Native() bool            { return false }
func (w *weaver) Apply(*chain.View) error { return nil }

func (w *weaver) Prepare() (p chain.Prepared, _ error) {
	if w.rng.IntN(20) == 0 {
		p.Forced = foreign[:w.rng.IntN(len(foreign))]
	}
	return p, nil
}

func (w *weaver) Accept(scheduler.Token) (chain.Effect, error) {
	w.length++
	if w.spliced > 0 {
		w.spliced--
		return chain.Effect{}, nil
	}
	if w.hold == 0 || w.rng.IntN(25) > 0 {
		return chain.Effect{}, nil
	}
	e := chain.Effect{Splice: true, Backtrack: int32(w.rng.IntN(min(w.hold, w.length) + 1)), Tokens: foreign[:w.rng.IntN(len(foreign))]}
	w.length -= int(e.Backtrack)
	w.spliced = len(e.Tokens)
	return e, nil
}

func (w *weaver) Reset(history []scheduler.Token, prompt int) error {
	w.length, w.spliced = len(history)-prompt, 0
	return nil
}

// withholder is a stop rule that never ends an answer but holds its text back at times.
type withholder struct{ rng *rand.Rand }

func (w *withholder) Check(scheduler.Token, string) (answer.Verdict, error) {
	return answer.Verdict{Hold: w.rng.IntN(3) > 0}, nil
}

func (*withholder) Close() error { return nil }
