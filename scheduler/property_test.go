// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
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
			w.t.Fatalf("%d requests have not ended and there is nothing to compute", len(w.open))
		}
	}
	w.t.Fatal("the requests do not end")
}

// answered waits until every control call has its answer.
func (w *world) answered() {
	done := make(chan struct{})
	go func() { w.calls.Wait(); close(done) }()
	for {
		select {
		case <-done:
			return
		default:
			scheduler.TakeCommands(w.s)
		}
	}
}

// verify checks an answer that has ended: nothing is lost on the way, what is shown is what its tokens say, and every token is
// what the model says after those before it, but for those that a client or a plugin put there.
func (w *world) verify(c *client) {
	end := c.answer.end
	flaky := w.failing && errors.Is(end.Err, scheduler.ErrPass)
	if end.Reason == answer.ReasonError && !flaky && !errors.Is(end.Err, answer.ErrSpliceLimit) {
		w.t.Fatalf("request %d has failed: %v", c.id, end.Err)
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
	if whole { // else its goroutine may be at work
		w.verifyTokens(c)
	}
}

func (w *world) verifyTokens(c *client) {
	tokens, prompt := scheduler.Conversation(c.st)
	for i, want := range w.backend.After(tokens, prompt, c.request) {
		if got := tokens[prompt+i]; got != want && !slices.Contains(foreign, got) {
			w.t.Fatalf("request %d: token %d of the answer is %d, the model says %d there", c.id, i, got, want)
		}
	}
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

// TestScheduler_RandomWork_KeepsItsPromises: every request ends exactly once with the right answer, no cell leaks, no slot starves,
// the order within a priority holds; the backend itself refuses a pass over its limits or a position out of order.
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
			w.answered()
			w.inOrder()
		})
	}
}
