// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"errors"
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

// judged asks for the log-probabilities of a prompt, each with the most likely token.
func judged(r scheduler.Request) scheduler.Request {
	r.PromptLogprobs, r.Logprobs = true, 1
	return r
}

// promptTold is what the events say of the prompt. All of it comes before the first token that the
// model gives.
func promptTold(t *testing.T, a received) (told []scheduler.PromptToken) {
	t.Helper()
	tokens := 0
	for _, e := range a.events {
		switch e.Kind {
		case scheduler.KindToken:
			if e.Origin == chain.Chosen {
				tokens++
			}
		case scheduler.KindPrompt:
			if tokens > 0 {
				t.Error("a part of the prompt comes after a token")
			}
			told = append(told, e.Prompt...)
		}
	}
	return told
}

// A prompt that goes on as the model would has the highest log-probabilities there, whatever is
// cached of it, who computes beside it and how few rows a pass has.
func TestScheduler_PromptLogprobs(t *testing.T) {
	begin := request(40, 3, 30)
	said := alone(t, begin).tokens
	whole := begin
	whole.Prompt = []scheduler.Segment{{Tokens: slices.Concat(begin.Prompt[0].Tokens, said)}}
	whole.MaxTokens = 2
	plain := alone(t, whole)
	want := promptTold(t, alone(t, judged(whole)))
	for i, p := range want[39:] {
		if p.Token != said[i] || p.Logprobs.Top[0].Token != said[i] || p.Logprobs.Token != p.Logprobs.Top[0].Logprob {
			t.Errorf("token %d of the continuation: %d, %+v, want %d", i, p.Token, p.Logprobs, said[i])
		}
	}
	if len(want) != 69 {
		t.Fatalf("%d tokens of the prompt were told, want 69", len(want))
	}
	for name, c := range map[string]struct {
		limits scheduler.Limits
		set    func(b *schedulertest.Backend)
	}{
		"few rows":        {scheduler.Limits{Rows: 8}, nil},
		"rows for slots":  {scheduler.Limits{Rows: 4}, nil},
		"separate passes": {scheduler.Limits{SeparatePasses: true, Rows: 40}, nil},
		"recurrent":       {scheduler.Limits{}, func(b *schedulertest.Backend) { b.Recurrent, b.Snapshots = true, 2 }},
		"no cutting":      {scheduler.Limits{}, func(b *schedulertest.Backend) { b.NoCutting = true }},
		"failing passes": {scheduler.Limits{Rows: 16}, func(b *schedulertest.Backend) {
			passes := 0
			b.Fail = func(batch *scheduler.Batch) error {
				if passes++; passes%5 == 0 && len(slices.Compact(slices.Clone(batch.Sequences))) > 1 {
					return errors.New("broken")
				}
				return nil
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := schedulertest.New(c.limits)
			if c.set != nil {
				c.set(b)
			}
			s := newScheduler(t, b, scheduler.Config{Slots: 4})
			finish(t, s, submit(t, s, whole)) // it is cached now
			beside := submit(t, s, request(300, 5, 60))
			streams := []*scheduler.Stream{submit(t, s, judged(whole)), submit(t, s, whole), submit(t, s, judged(whole)), beside}
			for i, a := range finish(t, s, streams...)[:3] {
				if a.text != plain.text || a.end.Reason != answer.ReasonLength {
					t.Errorf("answer %d: %q, %+v, want %q", i, a.text, a.end, plain.text)
				}
				if got := promptTold(t, a); i != 1 && !cmp.Equal(want, got) {
					t.Errorf("prompt %d: %s", i, cmp.Diff(want, got))
				}
			}
		})
	}
}

// One that has lost its slot is not told again of what it was told before.
func TestScheduler_PromptLogprobs_Preempted(t *testing.T) {
	for name, evict := range map[string]bool{"its cells stay": false, "its cells go": true} {
		t.Run(name, func(t *testing.T) {
			r := judged(request(100, 3, 2))
			want := promptTold(t, alone(t, r))
			b := schedulertest.New(scheduler.Limits{Rows: 8, Cells: 512})
			s := newScheduler(t, b, scheduler.Config{Slots: 1})
			st := submit(t, s, r)
			for range 6 {
				s.Tick()
			}
			must.Do(t, control(t, s, st.Pause))
			n := 20
			if evict {
				n = 500
			}
			finish(t, s, submit(t, s, request(n, 9, 3))) // takes the slot
			must.Do(t, control(t, s, st.Resume))
			if got := promptTold(t, finish(t, s, st)[0]); !cmp.Equal(want, got) {
				t.Error(cmp.Diff(want, got))
			}
		})
	}
}

// A request that wants no answer computes its prompt but for the last token, if it wants to know
// of it, and else nothing.
func TestScheduler_NoAnswer(t *testing.T) {
	for _, c := range []struct {
		length, told, computed int
		judge                  bool
	}{{50, 49, 49, true}, {1, 0, 0, true}, {50, 0, 0, false}} {
		r := request(c.length, 3, 1)
		if r.NoAnswer = true; c.judge {
			r = judged(r)
		}
		b := schedulertest.New(scheduler.Limits{})
		s := newScheduler(t, b, scheduler.Config{})
		a := finish(t, s, submit(t, s, r))[0]
		if told := len(promptTold(t, a)); told != c.told || len(a.tokens) != 0 || a.end.Reason != answer.ReasonLength || b.Tokens != c.computed {
			t.Errorf("a prompt of %d: %d told, %d computed, %d tokens, %v", c.length, told, b.Tokens, len(a.tokens), a.end.Reason)
		}
	}
}

// A stream beside a prompt that is judged goes on with each pass, and none has more rows than
// there are.
func TestScheduler_PromptLogprobs_NeighboursGoOn(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Rows: 16})
	b.Cost = func(tokens, _ int) time.Duration { return time.Duration(tokens) * time.Millisecond }
	s := newScheduler(t, b, scheduler.Config{Slots: 4})
	beside := submit(t, s, request(10, 5, 100))
	var a received
	for a.read(beside); len(a.tokens) == 0; a.read(beside) {
		s.Tick()
	}
	judging := submit(t, s, judged(request(400, 3, 1)))
	var j received
	for ticks := 0; j.end == nil; ticks++ {
		before := len(a.tokens)
		s.Tick()
		a.read(beside)
		j.read(judging)
		if a.end == nil && len(a.tokens) == before {
			t.Fatalf("tick %d gave the stream beside no token", ticks)
		}
	}
	if got := len(promptTold(t, j)); got != 399 || b.Largest > 16 {
		t.Errorf("%d told, the largest pass had %d tokens", got, b.Largest)
	}
	if a.end == nil { // the background samplers of the other may have been slow
		finish(t, s, beside)
	}
}
