// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/must"
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

func TestScheduler_Overflow_NeverParks(t *testing.T) {
	overflow := func(o scheduler.OverflowPolicy) (a received, missed int) {
		s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
		r := request(10, 1, 100)
		r.Buffer, r.Overflow = 16, o
		st := submit(t, s, r)
		for s.Tick() {
		}
		a.read(st)
		return a, int(st.Missed())
	}
	if a, missed := overflow(scheduler.DropOldest); a.end == nil || len(a.events) != 16 || missed != 102-16 {
		t.Errorf("drop oldest: %d events, %d missed, end %v", len(a.events), missed, a.end)
	}
	if a, _ := overflow(scheduler.CancelSlow); a.end == nil || a.end.Reason != answer.ReasonCancelled || !errors.Is(a.end.Err, scheduler.ErrSlowReader) {
		t.Errorf("cancel slow: ended with %+v", a.end)
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
	return must.Get(attempt(t, s, f))(t)
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

// TestScheduler_CacheSalt_PartsPrefixes: what one salt has left, running, idle or archived, is not
// there for another.
func TestScheduler_CacheSalt_PartsPrefixes(t *testing.T) {
	ask := func(salt string, seed int) scheduler.Request {
		r := request(300, seed, 10)
		r.CacheSalt = salt
		return r
	}
	b := schedulertest.New(scheduler.Limits{Cells: 1000, Context: 600})
	s := newScheduler(t, b, scheduler.Config{Slots: 2, ArchiveBytes: 1 << 20})
	finish(t, s, submit(t, s, ask("a", 1)))
	for _, tc := range []struct {
		name string
		r    scheduler.Request
		want int
	}{
		{"idle, of another", ask("b", 1), 0},
		{"idle, of its own", ask("b", 1), 299},
		{"idle, of nobody", ask("", 1), 0},
		{"others take the cells", ask("c", 2), 0},
		{"and these", ask("c", 3), 0},
		{"archived, of another", ask("d", 1), 0},
		{"archived, of its own", ask("a", 1), 299},
	} {
		before := b.Tokens
		got := finish(t, s, submit(t, s, tc.r))[0]
		if cached := got.end.Usage.Cached; cached != tc.want {
			t.Errorf("%s: %d tokens found, want %d", tc.name, cached, tc.want)
		}
		if computed := b.Tokens - before; computed < 300-tc.want {
			t.Errorf("%s: %d tokens computed", tc.name, computed)
		}
	}
	if b.Restored == 0 {
		t.Error("nothing came back from the archive, so it was not tried")
	}
	both := finish(t, s, submit(t, s, ask("e", 4)), submit(t, s, ask("f", 4)))
	if slices.ContainsFunc(both, func(a received) bool { return a.end.Usage.Cached != 0 }) {
		t.Error("two salts at the same time shared a prompt")
	}
}

// shifted is what a model with so many positions says in answer to a request if the context is
// shifted, n tokens: computed without a scheduler.
func shifted(b *schedulertest.Backend, r scheduler.Request, longest, n int) (said []scheduler.Token) {
	context := slices.Clone(r.Prompt[0].Tokens)
	keep := r.Shift.Keep
	if keep < 0 {
		keep = len(context)
	}
	keep = b.Pieces.Border(context, min(keep, longest-4))
	for range n {
		t := b.After(append(context, 0), len(context), r)[0]
		said, context = append(said, t), append(context, t)
		if len(context) < longest {
			continue
		}
		most := len(context) - keep - 1
		discard := r.Shift.Discard
		if discard == 0 {
			discard = most / 2
		}
		discard = b.Pieces.BorderAfter(context, keep+max(1, min(discard, most-1))) - keep
		context = append(context[:keep:keep], context[keep+discard:]...)
		if r.AdaptersFrom > keep { // they begin at the same token as before, or at the first one that is left after it
			r.AdaptersFrom = max(keep, r.AdaptersFrom-discard)
		}
	}
	return said
}

// An answer that outgrows the context goes on as one to what is left in the context, whatever runs
// beside it.
func TestScheduler_Shift_GoesOn(t *testing.T) {
	for name, shift := range map[string]answer.Shift{"half": {}, "keeps the beginning": {Keep: 10}, "three at a time": {Keep: 2, Discard: 3}} {
		t.Run(name, func(t *testing.T) {
			b := schedulertest.New(scheduler.Limits{Cells: 80, Context: 32, Batch: 16})
			s := newScheduler(t, b, scheduler.Config{Slots: 3})
			var streams []*scheduler.Stream
			var requests []scheduler.Request
			for i := range 3 {
				r := request(10, i/2, 150)
				r.Shift, r.Buffer = &shift, 200
				requests, streams = append(requests, r), append(streams, submit(t, s, r))
			}
			for i, a := range finish(t, s, streams...) {
				if diff := cmp.Diff(shifted(b, requests[i], 32, 150), a.tokens); diff != "" {
					t.Errorf("answer %d: %s", i, diff)
				}
				if a.end.Reason != answer.ReasonLength || !a.end.Truncated || a.end.Usage.Generated != 150 || a.end.Usage.Context >= 32 {
					t.Errorf("answer %d: %+v", i, a.end)
				}
			}
		})
	}
}

// Adapters that count from a token of the prompt on still do so when that has moved, or has left
// the context. Nothing that they computed is taken for the model's own afterwards.
func TestScheduler_Shift_KeepsTheAdapters(t *testing.T) {
	for _, from := range []int{0, 20, 88} {
		for name, shift := range map[string]answer.Shift{"half": {}, "keeps the beginning": {Keep: 30}, "keeps the prompt": {Keep: -1}} {
			t.Run(fmt.Sprint(name, " ", from), func(t *testing.T) {
				b := schedulertest.New(scheduler.Limits{Cells: 400, Context: 100})
				s := newScheduler(t, b, scheduler.Config{Slots: 1})
				r := adapted("a", from, 90, 1, 150)
				r.Shift, r.Buffer = &shift, 200
				st := submit(t, s, r)
				a := finish(t, s, st)[0]
				if diff := cmp.Diff(shifted(b, r, 100, 150), a.tokens); diff != "" {
					t.Error(diff)
				}
				for _, other := range []string{"", "a"} { // what it has left in the cache
					r := adapted(other, from, 90, 1, 9)
					if a, want := finish(t, s, submit(t, s, r))[0], alone(t, r); !slices.Equal(a.tokens, want.tokens) {
						t.Errorf("with %q the next answer is %v, alone %v", other, a.tokens, want.tokens)
					}
				}
			})
		}
	}
}

func TestScheduler_NoShift_EndsTruncated(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Cells: 32})
	s := newScheduler(t, b, scheduler.Config{Slots: 1})
	a := finish(t, s, submit(t, s, request(10, 1, 0)))[0]
	if a.end.Reason != answer.ReasonLength || !a.end.Truncated || a.end.Usage.Generated != 22 || a.end.Usage.Context != 31 {
		t.Errorf("%+v", a.end)
	}
	if a := finish(t, s, submit(t, s, request(10, 1, 3)))[0]; a.end.Truncated {
		t.Errorf("an answer that ends before: %+v", a.end)
	}
}

// A request that names a slot waits for that one, and no other request waits for it.
func TestScheduler_Slot_IsWaitedFor(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	s := newScheduler(t, b, scheduler.Config{Slots: 2})
	in := func(slot int, most int) scheduler.Request {
		r := request(5, slot, most)
		r.Slot = &slot
		return r
	}
	first, second, third := submit(t, s, in(1, 20)), submit(t, s, in(1, 3)), submit(t, s, request(5, 3, 3))
	s.Tick()
	var answers [3]received
	for i, st := range []*scheduler.Stream{first, second, third} {
		answers[i].read(st)
	}
	if len(answers[0].events) == 0 || answers[0].events[0].Started.Slot != 1 || len(answers[1].events) != 0 ||
		len(answers[2].events) == 0 || answers[2].events[0].Started.Slot != 0 {
		t.Errorf("%+v", answers)
	}
	rest := finish(t, s, first, second, third)
	if e := rest[1].events[0]; e.Started.Slot != 1 {
		t.Errorf("the second began in slot %d", e.Started.Slot)
	}
	if _, err := s.Submit(in(2, 1)); !errors.Is(err, scheduler.ErrBadRequest) {
		t.Errorf("slot 2 of two: %v", err)
	}
}
