// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

var errBegin = errors.New("a trap in init")

// unable is a chain whose guest cannot begin, once it may try.
func unable(gate <-chan struct{}) []chain.Stage {
	return []chain.Stage{&guest{rewind: func([]scheduler.Token, int) error {
		if gate != nil {
			<-gate
		}
		return errBegin
	}}, schedulertest.Sampled{}}
}

// A fork whose plugin cannot begin fails alone. The cells that it found hold more than its answer
// then has.
func TestScheduler_Fork_WhosePluginCannotBegin(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	source := finish(t, s, submit(t, s, request(100, 1, 60)))[0]
	neighbour, beside := begin(t, s, request(40, 2, 300), 5)
	r := request(100, 1, 100)
	r.Begun.Tokens = source.tokens[:40]
	r.Chain = unable(nil)
	fork, a := submit(t, s, r), new(received)
	for a.end == nil || beside.end == nil {
		s.Tick()
		a.read(fork)
		beside.read(neighbour)
	}
	if !errors.Is(a.end.Err, errBegin) {
		t.Errorf("the fork has ended with %v, %v", a.end.Reason, a.end.Err)
	}
	if len(beside.tokens) != 300 || beside.end.Err != nil {
		t.Errorf("its neighbour has ended with %v, %v after %d tokens", beside.end.Reason, beside.end.Err, len(beside.tokens))
	}
}

// An answer whose plugin cannot begin ends at once: nothing of its prompt is computed any more.
func TestScheduler_PluginThatCannotBegin_EndsTheAnswerAtOnce(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Batch: 64})
	s := newScheduler(t, b, scheduler.Config{})
	r := request(3000, 1, 100)
	gate := make(chan struct{})
	r.Chain = unable(gate)
	st, a := submit(t, s, r), new(received)
	for range 3 {
		s.Tick()
	}
	close(gate)
	for a.end == nil {
		scheduler.TakeCommands(s)
		a.read(st)
	}
	if !errors.Is(a.end.Err, errBegin) || a.end.Reason != answer.ReasonError || b.Passes != 3 {
		t.Errorf("it has ended with %v, %v after %d passes", a.end.Reason, a.end.Err, b.Passes)
	}
}

// closer counts its Close.
type closer struct {
	schedulertest.Sampled
	closed chan struct{}
}

func (c *closer) Close() error { c.closed <- struct{}{}; return nil }

// The stages of a SetChain that comes when the plugin cannot begin are closed once, as those of
// any other.
func TestStream_SetChain_WhosePluginCannotBegin(t *testing.T) {
	for _, when := range []string{"before it tries", "after the answer has ended"} {
		s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
		gate := make(chan struct{})
		r := request(1000, 1, 10)
		r.Chain = unable(gate)
		st, a := submit(t, s, r), new(received)
		s.Tick()
		if when != "before it tries" {
			close(gate)
			for a.end == nil {
				scheduler.TakeCommands(s)
				a.read(st)
			}
		}
		stage, result := &closer{closed: make(chan struct{}, 2)}, make(chan error, 1)
		go func() { result <- st.SetChain(t.Context(), []chain.Stage{chain.Keep("stage", nil), stage}) }()
		if a.end == nil {
			for !scheduler.AtWork(st) { // the background sampler has the call
				scheduler.TakeCommands(s)
			}
			close(gate)
		}
		var err error
		for err == nil {
			select {
			case err = <-result:
			default:
				scheduler.TakeCommands(s)
			}
		}
		<-stage.closed
		for a.end == nil {
			s.Tick()
			a.read(st)
		}
		if !errors.Is(err, errBegin) && !errors.Is(err, scheduler.ErrEnded) || len(stage.closed) > 0 {
			t.Errorf("%s: SetChain has returned %v, and the stage was closed %d times more", when, err, len(stage.closed))
		}
	}
}

// What waits for a reader that does not read is told of the end, whatever ends the answer, and so
// is a caller that goes away. None of it is done later.
func TestStream_Control_IsToldOfTheEnd(t *testing.T) {
	for _, how := range []string{"deadline", "cancelled", "its caller goes"} {
		b := schedulertest.New(scheduler.Limits{})
		s := newScheduler(t, b, scheduler.Config{Slots: 1})
		r := request(100, 1, 1000)
		r.Buffer, r.Deadline = 8, b.Now().Add(1000)
		st := submit(t, s, r)
		for s.Tick() { // until the buffer is full
		}
		ctx, leave := context.WithCancel(t.Context())
		result := make(chan error, 1)
		go func() { result <- st.Inject(ctx, []scheduler.Token{5, 6}) }()
		for scheduler.Calling(s) == 0 {
			scheduler.TakeCommands(s)
		}
		want := scheduler.ErrEnded
		switch how {
		case "deadline":
			b.Advance(1000)
		case "cancelled":
			st.Cancel()
		default:
			want = context.Canceled
			leave()
		}
		s.Tick()
		if err := <-result; !errors.Is(err, want) {
			t.Errorf("%s: Inject has returned %v", how, err)
		}
		if scheduler.TakeCommands(s); scheduler.Calling(s) > 0 {
			t.Errorf("%s: a call is left", how)
		}
		leave()
		a := finish(t, s, st)[0]
		if slices.ContainsFunc(a.events, func(e scheduler.Event) bool { return e.Origin == chain.Injected }) {
			t.Errorf("%s: the tokens were injected all the same", how)
		}
	}
}
