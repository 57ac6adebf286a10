// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

func TestScheduler_SamePrefix_IsComputedOnce(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	s := newScheduler(t, b, scheduler.Config{Slots: 4})
	first := finish(t, s, submit(t, s, request(200, 1, 10)))[0]
	computed := b.Tokens

	// The next turn of the conversation, and beside it one that shares only the prompt.
	turn := request(0, 0, 10)
	turn.Prompt = slices.Concat(prompt(200, 1), []scheduler.Segment{{Tokens: first.tokens}}, prompt(20, 9))
	other := request(0, 0, 10)
	other.Prompt = slices.Concat(prompt(200, 1), prompt(30, 5))
	answers := finish(t, s, submit(t, s, turn), submit(t, s, other))
	if c := answers[0].end.Usage.Cached; c != 209 { // the last token was never computed
		t.Errorf("the next turn found %d tokens in the cache, want 209", c)
	}
	if c := answers[1].end.Usage.Cached; c != 200 {
		t.Errorf("the sharing request found %d tokens in the cache, want 200", c)
	}
	if got, want := b.Tokens-computed, 1+20+9+30+9; got != want {
		t.Errorf("%d tokens computed, want %d", got, want)
	}
	for i, r := range []scheduler.Request{turn, other} {
		r.Chain = []chain.Stage{schedulertest.Greedy{}}
		if want := alone(t, r); answers[i].text != want.text {
			t.Errorf("request %d: %q, alone %q", i, answers[i].text, want.text)
		}
	}
}

// TestScheduler_Archive_KeepsConversations: their cells were needed by others, yet the next turn
// computes only itself.
func TestScheduler_Archive_KeepsConversations(t *testing.T) {
	for _, budget := range []int64{0, 1 << 20} {
		b := schedulertest.New(scheduler.Limits{Cells: 600, Context: 600})
		s := newScheduler(t, b, scheduler.Config{Slots: 1, ArchiveBytes: budget})
		turn := func(seed int, answer []scheduler.Token) answerOf {
			r := request(0, 0, 10)
			r.Prompt = slices.Concat(prompt(300, seed), []scheduler.Segment{{Tokens: answer}})
			if len(answer) > 0 {
				r.Prompt = append(r.Prompt, prompt(20, 9)...)
			}
			return answerOf{finish(t, s, submit(t, s, r))[0], r}
		}
		first, second := turn(1, nil), turn(2, nil) // 310 tokens each: only one fits beside the next
		want := map[int64]int{0: 0, 1 << 20: 309}[budget]
		for i, before := range []answerOf{first, second} {
			a := turn(i+1, before.tokens)
			if budget == 0 && i == 1 {
				continue
			}
			if a.end.Usage.Cached != want {
				t.Errorf("budget %d: turn of conversation %d found %d tokens, want %d", budget, i, a.end.Usage.Cached, want)
			}
			a.r.Chain = []chain.Stage{schedulertest.Greedy{}}
			if alone := alone(t, a.r); a.text != alone.text {
				t.Errorf("budget %d: the text differs from the one computed alone", budget)
			}
		}
		if budget > 0 && b.Restored == 0 {
			t.Error("nothing came back from the archive")
		}
	}
}

type answerOf struct {
	received
	r scheduler.Request
}

func TestScheduler_CachePromptOff_ComputesAll(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	s := newScheduler(t, b, scheduler.Config{})
	finish(t, s, submit(t, s, request(100, 1, 2)))
	r := request(100, 1, 2)
	r.CachePrompt = false
	if a := finish(t, s, submit(t, s, r))[0]; a.end.Usage.Cached != 0 {
		t.Errorf("%d tokens from the cache", a.end.Usage.Cached)
	}
}

func TestScheduler_CacheThatCannotCutOrShare_IsNeverWrong(t *testing.T) {
	for _, b := range []*schedulertest.Backend{schedulertest.New(scheduler.Limits{}), schedulertest.New(scheduler.Limits{})} {
		b.NoCutting, b.NoSharing = true, true
		s := newScheduler(t, b, scheduler.Config{Slots: 2})
		for i := range 6 {
			r := request(50+i, 1, 5)
			a := finish(t, s, submit(t, s, r))[0]
			if want := alone(t, r); a.text != want.text {
				t.Errorf("%q, alone %q", a.text, want.text)
			}
		}
	}
}

func TestScheduler_CellsExhausted_AllFinishInOrder(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Cells: 400, Context: 400})
	s := newScheduler(t, b, scheduler.Config{Slots: 6})
	var streams []*scheduler.Stream
	var want []received
	for i := range 12 { // each grows to 100 tokens: three times what the cells hold
		r := request(20, i, 80)
		streams = append(streams, submit(t, s, r))
		want = append(want, alone(t, r))
	}
	var order []int
	answers := make([]received, len(streams))
	for s.Tick() {
		for i, st := range streams {
			if answers[i].end == nil {
				if answers[i].read(st); answers[i].end != nil {
					order = append(order, i)
				}
			}
		}
	}
	if len(order) != 12 {
		t.Fatalf("%d of 12 ended", len(order))
	}
	for i, a := range answers {
		if a.end.Reason != answer.ReasonLength || a.text != want[i].text {
			t.Errorf("request %d ended as %v (%v); its text is right: %v", i, a.end.Reason, a.end.Err, a.text == want[i].text)
		}
	}
	if !slices.IsSorted(order) {
		t.Errorf("they ended in the order %v", order)
	}
}

// reader stops reading: its slot parks, the others go on, and nothing is lost when it comes back.
func TestScheduler_SlowReader_ParksAlone(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	s := newScheduler(t, b, scheduler.Config{Slots: 2})
	r := request(10, 1, 100)
	r.Buffer = 16
	slow := submit(t, s, r)
	fast := submit(t, s, request(10, 2, 60))
	if a := finish(t, s, fast)[0]; len(a.tokens) != 60 {
		t.Fatalf("the neighbour got %d tokens", len(a.tokens))
	}
	for s.Tick() {
	}
	if snap := inspect(t, s); snap.Slots[0].State != "parked" {
		t.Errorf("the slot is %s", snap.Slots[0].State)
	}
	// Both slots are wanted: the parked job gives way and comes back.
	finish(t, s, submit(t, s, request(10, 3, 5)), submit(t, s, request(10, 4, 5)))
	got := finish(t, s, slow)[0]
	if want := alone(t, request(10, 1, 100)); got.text != want.text {
		t.Error("the slow reader's text is not whole")
	}
}

func TestScheduler_DropOldest_NeverParks(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	s := newScheduler(t, b, scheduler.Config{})
	r := request(10, 1, 100)
	r.Buffer, r.Overflow = 16, scheduler.DropOldest
	st := submit(t, s, r)
	for s.Tick() {
	}
	var a received
	a.read(st)
	if a.end == nil || len(a.events) != 16 || st.Missed() != 102-16 {
		t.Errorf("%d events, %d missed, end %v", len(a.events), st.Missed(), a.end)
	}
}

func TestScheduler_CancelSlow_EndsTheRequest(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	s := newScheduler(t, b, scheduler.Config{})
	r := request(10, 1, 100)
	r.Buffer, r.Overflow = 16, scheduler.CancelSlow
	st := submit(t, s, r)
	for s.Tick() {
	}
	var a received
	a.read(st)
	if a.end == nil || a.end.Reason != answer.ReasonCancelled || !errors.Is(a.end.Err, scheduler.ErrSlowReader) {
		t.Errorf("ended with %+v", a.end)
	}
}

func TestScheduler_Deadline_EndsRunningAndWaiting(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	b.Cost = func(int, int) time.Duration { return 10 * time.Millisecond }
	s := newScheduler(t, b, scheduler.Config{Slots: 1})
	r := request(10, 1, 1000)
	r.Deadline = b.Now().Add(105 * time.Millisecond)
	waiting := r
	answers := finish(t, s, submit(t, s, r), submit(t, s, waiting))
	for i, want := range []int{11, 0} {
		if a := answers[i]; !errors.Is(a.end.Err, scheduler.ErrDeadline) || len(a.tokens) != want {
			t.Errorf("request %d: %v after %d tokens, want %d", i, a.end.Err, len(a.tokens), want)
		}
	}
}

func inspect(t *testing.T, s *scheduler.Scheduler) scheduler.Snapshot {
	t.Helper()
	return call(t, s, func(ctx context.Context) (scheduler.Snapshot, error) { return s.Inspect(ctx, 10) })
}

// call runs a call that waits for the tick, beside ticks.
func call[T any](t *testing.T, s *scheduler.Scheduler, f func(context.Context) (T, error)) T {
	t.Helper()
	v, err := attempt(t, s, f)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func attempt[T any](t *testing.T, s *scheduler.Scheduler, f func(context.Context) (T, error)) (v T, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		v, err = f(t.Context())
	}()
	for {
		select {
		case <-done:
			return v, err
		default:
			scheduler.TakeCommands(s)
		}
	}
}
