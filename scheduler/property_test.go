// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/panics"
	"github.com/penstock/penstock/scheduler/program"
	"github.com/penstock/penstock/tools/steadytest"
)

// settle lets everybody finish.
func (w *world) settle() {
	idle := 0 // ticks without work, one after another: a reader may read after the first, and a copy end after the second
	for range 1_000_000 {
		for _, c := range w.open {
			c.slow = false
			if c.paused {
				c.paused = false
				_ = control(w.t, w.s, c.st.Resume)
			}
		}
		busy := w.tick()
		switch idle++; {
		case len(w.open) == 0:
			return
		case busy:
			idle = 0
		case scheduler.Awaited(w.s) > 0: // a stage on a goroutine of its own, on a busy machine
			idle = 0
			time.Sleep(100 * time.Microsecond)
		case idle > 3:
			snap := scheduler.SnapshotOf(w.s)
			w.t.Fatalf("%d requests have not ended and there is nothing to compute: slots %+v, queue %+v", len(w.open), snap.Slots, snap.Queue)
		}
	}
	w.t.Fatal("the requests do not end")
}

// answered waits until every call has its answer.
func (w *world) answered() {
	done := make(chan struct{})
	go func() { w.calls.Wait(); close(done) }()
	for {
		select {
		case <-done:
			return
		default:
			w.s.Tick()
		}
	}
}

// verify checks an answer that has ended: nothing is lost on the way, what is shown is what its
// tokens say, and every token is what the model says after those before it, but for those that a
// client or a plugin put there.
func (w *world) verify(c *client) {
	end := c.answer.end
	if end.Reason == answer.ReasonError && !w.expected(c, end.Err) {
		w.t.Fatalf("request %d has failed: %v: %+v", c.id, end.Err, c.request)
	}
	if u := end.Usage; u.Cached > u.Prompt || u.Accepted > u.Drafted || u.Generated < 0 || u.Context > w.backend.Limits().Context {
		w.t.Fatalf("request %d: its usage is %+v", c.id, u)
	}
	if c.request.Overflow == scheduler.DropOldest {
		return
	}
	said := ""
	for i, e := range c.answer.events {
		if e.Seq != uint64(i) {
			w.t.Fatalf("request %d: event %d has sequence number %d", c.id, i, e.Seq)
		}
	}
	for _, token := range c.answer.tokens {
		said += w.backend.Piece(token)
	}
	whole := end.Reason == answer.ReasonStop || end.Reason == answer.ReasonLength
	switch shown := c.answer.text; {
	case c.rewound && len(c.request.Stop) > 0: // the beginning of a stop string may have been shown with a token that was taken back
	case !strings.HasPrefix(said, shown+end.Stop), whole && end.Stop == "" && shown != said:
		w.t.Fatalf("request %d ended as %v by %q: shown %q, its tokens say %q", c.id, end.Reason, end.Stop, shown, said)
	}
	switch {
	case c.script != nil:
		w.verifyScript(c)
	case whole: // else its goroutine may be at work
		w.verifyTokens(c)
	}
}

// expected reports whether a request may have failed like this.
func (w *world) expected(c *client, err error) bool {
	switch {
	case errors.Is(err, scheduler.ErrPass):
		return w.failing
	case errors.Is(err, scheduler.ErrDeadline):
		return !c.request.Deadline.IsZero()
	case errors.Is(err, scheduler.ErrLost):
		return w.lost
	case errors.Is(err, errBegin):
		return c.unable
	case c.bombed && errors.As(err, new(*panics.Error)):
		return true
	case errors.Is(err, errScript), errors.Is(err, program.ErrBudget), errors.Is(err, program.ErrContextFull):
		return c.script != nil
	}
	return errors.Is(err, answer.ErrSpliceLimit)
}

func (w *world) verifyTokens(c *client) {
	tokens, prompt := scheduler.Conversation(c.st)
	if c.request.PromptLogprobs {
		w.verifyPrompt(c, tokens[:prompt])
	}
	if c.request.Shift != nil {
		w.verifyShifted(c, tokens[prompt:])
		return
	}
	woven := len(c.request.Chain) == 2 // a plugin has answered the tokens of a fork: they may stand anywhere
	for i, want := range w.backend.After(tokens, prompt, c.request) {
		got := tokens[prompt+i]
		if got != want && !slices.Contains(foreign, got) && i >= len(c.request.Begun.Tokens) && !(woven && slices.Contains(c.request.Begun.Tokens, got)) {
			w.t.Fatalf("request %d: token %d of the answer is %d, the model says %d there: %+v", c.id, i, got, want, c.request)
		}
	}
}

// verifyPrompt checks what a request was told of its prompt: each token once, in order, with what
// the model says there. Only where tokens that were put in have driven some of the prompt out of
// the context, its end may be missing.
func (w *world) verifyPrompt(c *client, prompt []scheduler.Token) {
	told := promptTold(w.t, c.answer)
	if len(told) != len(prompt)-1 && !(c.steered || len(c.request.Begun.Tokens) > 0) {
		w.t.Fatalf("request %d: %d tokens of a prompt of %d were told: %+v", c.id, len(told), len(prompt), c.request)
	}
	for i, want := range w.backend.After(prompt, 1, c.request)[:len(told)] {
		if got := told[i]; got.Token != prompt[i+1] || got.Logprobs.Top[0].Token != want {
			w.t.Fatalf("request %d: token %d of the prompt is told as %+v, the model says %d there: %+v", c.id, i+1, got, want, c.request)
		}
	}
}

// verifyShifted is verifyTokens for an answer that outgrows the context, which nobody has put
// tokens into.
func (w *world) verifyShifted(c *client, tokens []scheduler.Token) {
	if c.steered || len(c.request.Chain) == 2 {
		return
	}
	if want := shifted(w.backend, c.request, w.backend.Limits().Context, len(tokens)); !slices.Equal(tokens, want) {
		w.t.Fatalf("request %d: the answer is %v, the model says %v: %+v", c.id, tokens, want, c.request)
	}
}

// inOrder checks that requests of one caller and priority, left alone, began in the order they
// came.
func (w *world) inOrder() {
	last := map[string]int{}
	for _, c := range w.started {
		if c.hurt {
			continue
		}
		as := fmt.Sprintf("%s's of priority %d", c.request.Caller, c.priority)
		if c.id < last[as] {
			w.t.Errorf("request %d, %s, began after %d", c.id, as, last[as])
		}
		last[as] = c.id
	}
}

// verifyWork checks that what was computed is in proportion to what was asked for: nothing is
// computed again and again. Where passes fail, or memory can be cut only here and there, it is.
func (w *world) verifyWork() {
	b := w.backend
	if w.shifts || w.failing || w.lost || b.NoCutting || b.Recurrent || b.Window > 0 {
		return
	}
	w.t.Logf("%d tokens were computed, requests have had %d", b.Tokens, w.work)
	if most := 1000 + 4*w.work; b.Tokens > most { // it is hardly ever more than one time
		w.t.Errorf("%d tokens were computed, requests have had %d", b.Tokens, w.work)
	}
}

// verifyFreed checks that what the cold store was lent and has lent is freed in the end.
func (w *world) verifyFreed() {
	if w.cold == nil || w.lost {
		return
	}
	end(w.s)
	w.cold.Deliver()
	if w.cold.Clear(); w.backend.States != 0 {
		w.t.Errorf("%d states are left", w.backend.States)
	}
}

// TestScheduler_RandomWork_KeepsItsPromises: every request ends exactly once with the right
// answer, no cell leaks, no slot starves, the order within a priority holds, nobody sleeps while
// there is work, all samplers are closed, and what a request breaks is its own; the backend itself
// refuses a pass over its limits or a position out of order. PENSTOCK_TEST_SEED has it begin
// with that world. It is mostly one goroutine, so the race detector is left to
// TestScheduler_RandomRun_KeepsItsPromises.
func TestScheduler_RandomWork_KeepsItsPromises(t *testing.T) {
	worlds, ticks := steadytest.InLongTest(3000, 60), steadytest.InLongTest(300, 60)
	for seed := steadytest.Seed(t); worlds > 0; seed, worlds = seed+1, worlds-1 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWorld(t, seed)
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
			w.passed.Add(1 << 40) // programs may still draw whose requests have ended
			w.answered()
			w.inOrder()
			scheduler.Finish(w.s)
			w.lives.wrong(t, true)
			w.verifyWork()
			w.verifyFreed()
		})
	}
}
