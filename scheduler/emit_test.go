// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/must"
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

// Stages that finish when the tick stops waiting for them: whoever is first, no answer is left
// lying, and each has the text it has alone, also where a mask is applied to a row that the next
// pass overwrites.
func TestWorker_LateStage_HammerIsNeverForgotten(t *testing.T) {
	s := must.Get(scheduler.New(schedulertest.New(scheduler.Limits{}), scheduler.Config{}))(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	patient, giveUp := context.WithTimeout(ctx, 5*time.Minute)
	defer giveUp()
	everything := slices.Repeat([]uint32{^uint32(0)}, 256/32)
	want := alone(t, request(10, 1, 100)).text
	var readers sync.WaitGroup
	for i := range 8 {
		took := time.Duration(i) * 10 * time.Microsecond
		sluggish := &guest{apply: func(*chain.View) error {
			for end := time.Now().Add(950*time.Microsecond + took); time.Now().Before(end); {
				runtime.Gosched()
			}
			return nil
		}}
		if i%2 == 1 {
			sluggish.prepare = func() (chain.Prepared, error) { return chain.Prepared{Mask: everything}, nil }
		}
		st := submit(t, s, guided(100, sluggish))
		readers.Go(func() {
			n, text := 0, ""
			for e := range schedulertest.Events(patient, st) {
				if e.Kind == scheduler.KindToken {
					n++
				}
				text += e.Text
			}
			if n != 100 || text != want {
				t.Errorf("%d tokens of 100: %q, alone %q", n, text, want)
			}
		})
	}
	readers.Wait()
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
