// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"errors"
	"testing"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// While two generate and a third computes its prompt in a second pass, the first pass finds no
// cells: the third loses its slot between the two. It goes on later, and every answer is what it
// is alone.
func TestScheduler_TwoPasses_PreemptionBetweenThem(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{SeparatePasses: true, Batch: 64})
	s := newScheduler(t, b, scheduler.Config{})
	streams := []*scheduler.Stream{submit(t, s, request(10, 1, 30)), submit(t, s, request(10, 2, 30))}
	for range 3 {
		s.Tick()
	}
	streams = append(streams, submit(t, s, request(200, 3, 10)))
	failed := false
	b.Fail = func(batch *scheduler.Batch) error {
		if !failed && batch.Len() == 2 && batch.Positions[0] > 12 {
			failed = true
			return scheduler.ErrNoCells
		}
		return nil
	}
	answers := finish(t, s, streams...)
	if !failed {
		t.Fatal("no pass has failed")
	}
	for i, r := range []scheduler.Request{request(10, 1, 30), request(10, 2, 30), request(200, 3, 10)} {
		if want := alone(t, r); answers[i].text != want.text {
			t.Errorf("answer %d is %q (%v), alone %q", i, answers[i].text, answers[i].end.Err, want.text)
		}
	}
}

// The halves of a failed pass run one after the other; a job of the second may lose its slot to
// one of the first.
func TestScheduler_FailedPass_PreemptionBetweenHalves(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	s := newScheduler(t, b, scheduler.Config{})
	var streams []*scheduler.Stream
	for i := range 4 {
		streams = append(streams, submit(t, s, request(10, i, 20)))
	}
	for range 3 {
		s.Tick()
	}
	broken, fails := errors.New("broken"), 0
	b.Fail = func(batch *scheduler.Batch) error {
		switch n := batch.Len(); {
		case fails == 0 && n == 4:
			fails++
			return broken
		case fails == 1 && n == 2:
			fails++
			return scheduler.ErrNoCells
		}
		return nil
	}
	for i, a := range finish(t, s, streams...) {
		if want := alone(t, request(10, i, 20)); a.text != want.text {
			t.Errorf("answer %d is %q (%v), alone %q", i, a.text, a.end.Err, want.text)
		}
	}
	if fails != 2 {
		t.Errorf("%d passes have failed, want 2", fails)
	}
}

// A job that lost its slot finds its own cells again, also where it takes nobody else's.
func TestScheduler_Preempted_KeepsItsCellsWithoutPromptCache(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	s := newScheduler(t, b, scheduler.Config{Slots: 1})
	first := request(500, 1, 40)
	first.CachePrompt = false
	st, a := begin(t, s, first, 5)
	if err := control(t, s, st.Pause); err != nil {
		t.Fatal(err)
	}
	finish(t, s, submit(t, s, request(10, 2, 5))) // takes the slot
	if err := control(t, s, st.Resume); err != nil {
		t.Fatal(err)
	}
	before := b.Tokens
	for s.Tick() {
		a.read(st)
	}
	if n := b.Tokens - before; n > 40 {
		t.Errorf("%d tokens were computed for the rest of an answer of 40", n)
	}
	if want := alone(t, request(500, 1, 40)); a.text != want.text {
		t.Errorf("%q, without the break %q", a.text, want.text)
	}
}
