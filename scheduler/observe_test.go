// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/estimator"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// tokenCounter adds up what the records of ticks say was computed.
type tokenCounter struct{ tokens, preempted int }

func (c *tokenCounter) Tick(r scheduler.TickRecord) {
	c.tokens += r.Prefill + r.Decode + r.Drafted
	c.preempted += r.Preempted
}

// A prompt that is planned first, and then preempted for one that came before it, is not counted:
// its tokens are not computed.
func TestTickRecord_PlannedPromptPreempted_NotCounted(t *testing.T) {
	counter := &tokenCounter{}
	b := schedulertest.New(scheduler.Limits{Cells: 256})
	s := newScheduler(t, b, scheduler.Config{Strategy: estimator.PrefillPriority{}})
	s.Listen(scheduler.Listener{Tick: counter.Tick})
	submit(t, s, request(10, 3, 200)) // it generates, so that the strategy is asked
	first, second := submit(t, s, request(100, 1, 200)), submit(t, s, request(60, 2, 200))
	for b.Tokens < 10+100+60 {
		s.Tick()
	}
	for st, n := range map[*scheduler.Stream]int{first: 80, second: 70} {
		tokens := make([]scheduler.Token, n)
		for i := range tokens {
			tokens[i] = scheduler.Token(1 + i)
		}
		if err := control(t, s, func(ctx context.Context) error { return st.Inject(ctx, tokens) }); err != nil {
			t.Fatal(err)
		}
	}
	s.Tick()
	if counter.preempted == 0 {
		t.Error("no prompt was preempted")
	}
	if counter.tokens != b.Tokens {
		t.Errorf("the records have %d tokens, the passes had %d", counter.tokens, b.Tokens)
	}
}

// Each listener is told of all requests and ticks, with what the request's context has, until it is
// stopped.
func TestScheduler_Listen_UntilStopped(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	type key struct{}
	type counts struct{ ticks, first, later, ended int }
	var told [2]counts
	var stop [2]func()
	for i := range told {
		c := &told[i]
		stop[i] = s.Listen(scheduler.Listener{
			Tick:  func(scheduler.TickRecord) { c.ticks++ },
			First: func(time.Duration) { c.first++ },
			Token: func(time.Duration) { c.later++ },
			Ended: func(r scheduler.RequestRecord) {
				if r.Context.Value(key{}) == "mine" && r.Usage.Generated == 5 {
					c.ended++
				}
			},
		})
	}
	for range 2 {
		r := request(10, 1, 5)
		r.Context = context.WithValue(t.Context(), key{}, "mine")
		finish(t, s, submit(t, s, r))
		stop[0]()
		stop[0]()
	}
	once := counts{ticks: told[0].ticks, first: 1, later: 4, ended: 1}
	twice := counts{ticks: told[1].ticks, first: 2, later: 8, ended: 2}
	if told[0] != once || told[1] != twice || told[1].ticks <= told[0].ticks {
		t.Errorf("the one that was stopped after a request was told of %+v, the other of %+v", told[0], told[1])
	}
}

// The submitter of a request learns of its end before the reader does, and so do listeners.
func TestRequest_Ended_IsToldFirst(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{Cells: 256}), scheduler.Config{})
	var told []scheduler.RequestRecord
	r := request(10, 1, 3)
	var st *scheduler.Stream
	ended := func(record scheduler.RequestRecord) {
		told = append(told, record)
		for e, ok := st.TryNext(); ok; e, ok = st.TryNext() {
			if e.Kind == scheduler.KindEnd {
				t.Error("the reader was told first")
			}
		}
	}
	r.Ended = ended
	s.Listen(scheduler.Listener{Ended: ended})
	st = submit(t, s, r)
	for range 20 {
		s.Tick()
	}
	e, ok := st.TryNext()
	if !ok || e.Kind != scheduler.KindEnd || len(told) != 2 {
		t.Fatalf("%+v; told %d times", e, len(told))
	}
	if got := told[0]; got.Reason != e.End.Reason || got.Usage != e.End.Usage || got.Usage.Generated != 3 {
		t.Errorf("told of %+v, the stream of %+v", got, e.End)
	}
}

func TestScheduler_Progress_TellsOfEachChunk(t *testing.T) {
	for _, wanted := range []bool{true, false} {
		s := newScheduler(t, schedulertest.New(scheduler.Limits{Batch: 16}), scheduler.Config{Slots: 1})
		r := request(40, 1, 2)
		r.Progress = wanted
		var got []int
		for _, e := range finish(t, s, submit(t, s, r))[0].events {
			if e.Kind == scheduler.KindProgress {
				got = append(got, e.Computed)
			}
		}
		want := []int{16, 32, 40}
		if !wanted {
			want = nil
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("asked for %v: %s", wanted, diff)
		}
	}
}

// The token that ended an answer is told with the end.
func TestScheduler_End_TellsTheToken(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	b.End = 23
	s := newScheduler(t, b, scheduler.Config{})
	r := request(20, 1, 0)
	r.Logprobs = 1
	a := finish(t, s, submit(t, s, r))[0]
	if e := a.end.EndToken; a.end.Reason != answer.ReasonStop || e == nil || e.Token != schedulertest.EndToken || e.Logprobs == nil {
		t.Errorf("%+v", a.end)
	}
	if a := finish(t, s, submit(t, s, request(2, 1, 3)))[0]; a.end.EndToken != nil {
		t.Errorf("an answer that ended for its length: %+v", a.end)
	}
}
