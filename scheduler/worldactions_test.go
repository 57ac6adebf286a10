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
	"sync/atomic"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/draft"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/panics"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

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
