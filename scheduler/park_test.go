// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"slices"
	"testing"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// sip reads at most one event after every tick until the answer has ended.
func sip(t *testing.T, s *scheduler.Scheduler, st *scheduler.Stream) *received {
	t.Helper()
	a := new(received)
	for a.end == nil {
		s.Tick()
		if e, ok := st.TryNext(); ok {
			a.take(e)
		}
	}
	return a
}

// whole checks that a reader has seen every event.
func (a *received) whole(t *testing.T) {
	t.Helper()
	for i, e := range a.events {
		if e.Seq != uint64(i) {
			t.Fatalf("event %d has sequence number %d: what was between is lost", i, e.Seq)
		}
	}
}

// What a tick adds may be much more than a token: all of a hold window when the answer ends, all
// of a splice.
func TestStream_Park_LosesNothing(t *testing.T) {
	held := guided(250, &guest{hold: 200})
	n := 0
	spliced := guided(250, &guest{hold: 2, accept: func(scheduler.Token) (chain.Effect, error) {
		if n++; n == 5 {
			return chain.Effect{Splice: true, Backtrack: 1, Tokens: make100()}, nil
		}
		return chain.Effect{}, nil
	}})
	for name, r := range map[string]scheduler.Request{"hold window": held, "splice": spliced} {
		s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
		r.Buffer = 8
		a := sip(t, s, submit(t, s, r))
		if a.whole(t); len(a.tokens) != 250 {
			t.Errorf("%s: the reader has %d tokens of 250 (%v)", name, len(a.tokens), a.end.Err)
		}
	}
}

func make100() []scheduler.Token {
	tokens := make([]scheduler.Token, 100)
	for i := range tokens {
		tokens[i] = scheduler.Token(i + 1)
	}
	return tokens
}

// An injection waits for a slow reader, and the answer waits for the injection.
func TestStream_Inject_DoesNotStarve(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	r := request(10, 1, 200)
	r.Buffer = 16
	st := submit(t, s, r)
	for s.Tick() { // until the buffer is full
	}
	done := make(chan error, 1)
	go func() { done <- st.Inject(t.Context(), []scheduler.Token{5, 6, 7, 8, 9, 10, 11, 12}) }()
	for scheduler.Calling(s) == 0 { // it waits
		scheduler.TakeCommands(s)
	}
	a := sip(t, s, st)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if a.whole(t); len(a.tokens) != 200 || !slices.Equal(a.tokens[13:16], []scheduler.Token{5, 6, 7}) {
		t.Errorf("the reader had 13 tokens when the injection came; the answer is %v", a.tokens)
	}
}
