// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"math/rand/v2"
	"testing"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/draft"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/must"
)

// A request for a slot of its own gets it from an answer that makes no use of it, as any request
// does, and from no other.
func TestScheduler_Slot_OfAParkedAnswer(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{Slots: 3})
	var parked []*scheduler.Stream
	for slot := range 3 {
		r := request(10, slot, 30)
		r.Slot = &slot
		st, _ := reach(t, s, r, 3)
		must.Do(t, control(t, s, st.Pause))
		parked = append(parked, st)
	}
	wanted := 1
	r := request(10, 5, 30)
	r.Slot = &wanted
	for a := submit(t, s, r); ; {
		s.Tick()
		e, ok := a.TryNext()
		if !ok {
			t.Fatal("the answer does not begin")
		}
		if e.Kind == scheduler.KindStarted && e.Started.Slot != wanted {
			t.Errorf("it began in slot %d", e.Started.Slot)
		}
		if e.Kind == scheduler.KindEnd {
			break
		}
	}
	for i, info := range scheduler.SnapshotOf(s).Slots {
		if (info.Stream != "") != (i != wanted) {
			t.Errorf("slot %d: %+v", i, info)
		}
	}
	for _, st := range parked {
		if err := control(t, s, st.Resume); err != nil {
			t.Error(err)
		}
	}
	for i, a := range finish(t, s, parked...) {
		if a.end.Usage.Generated != 30 {
			t.Errorf("answer %d: %+v", i, a.end)
		}
	}
}

// Nothing is computed after the end of an answer, whatever ends it and whoever draws its tokens:
// all tokens before the last one are computed once, and the last one never. What is charged is
// what was computed and that token.
func TestScheduler_End_ComputesNothingAfterIt(t *testing.T) {
	const length, neighbour = 30, 90 // of a sequence before the model ends it; tokens of another answer
	third := func() chain.Stage {
		n := 0
		return &guest{accept: func(scheduler.Token) (chain.Effect, error) {
			n++
			return chain.Effect{Stop: n == 3}, nil
		}}
	}
	for name, c := range map[string]struct {
		change func(*scheduler.Request)
		reason answer.Reason
		tokens int // 0: to where the model ends
	}{
		"the model's end":                     {func(*scheduler.Request) {}, answer.ReasonStop, 0},
		"with log-probabilities":              {func(r *scheduler.Request) { r.Logprobs = 2 }, answer.ReasonStop, 0},
		"with a trace":                        {func(r *scheduler.Request) { r.Trace = 2 }, answer.ReasonStop, 0},
		"with a plugin":                       {func(r *scheduler.Request) { r.Chain = []chain.Stage{&guest{}, schedulertest.Sampled{}} }, answer.ReasonStop, 0},
		"that a plugin may take back":         {func(r *scheduler.Request) { r.Chain = []chain.Stage{&guest{hold: 4}, schedulertest.Sampled{}} }, answer.ReasonStop, 0},
		"a plugin's end":                      {func(r *scheduler.Request) { r.Chain = []chain.Stage{third(), schedulertest.Sampled{}} }, answer.ReasonStop, 3},
		"a stop string":                       {func(r *scheduler.Request) { r.Stop = []string{" "} }, answer.ReasonStop, 1},
		"the length":                          {func(r *scheduler.Request) { r.MaxTokens = 7 }, answer.ReasonLength, 7},
		"the length, with log-probabilities":  {func(r *scheduler.Request) { r.MaxTokens, r.Logprobs = 7, 2 }, answer.ReasonLength, 7},
		"the length, where the model ends it": {func(r *scheduler.Request) { r.MaxTokens = length - 10 + 1 }, answer.ReasonStop, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := schedulertest.New(scheduler.Limits{})
			b.End = length
			s := newScheduler(t, b, scheduler.Config{})
			r := request(10, 1, 0)
			r.CachePrompt = false
			c.change(&r)
			other := request(10, 2, neighbour)
			other.CachePrompt, other.IgnoreEOG = false, true
			all := finish(t, s, submit(t, s, r), submit(t, s, other))
			end, want := all[0].end, c.tokens
			if want == 0 {
				want = length - 10 + 1
			}
			if end.Reason != c.reason || end.Usage.Generated != want {
				t.Errorf("it ended as %v (%v) after %d tokens, want %d", end.Reason, end.Err, end.Usage.Generated, want)
			}
			if computed, want := b.Tokens, 10+want-1+10+neighbour-1; computed != want {
				t.Errorf("%d tokens were computed, want %d", computed, want)
			}
			if charged := end.Usage.Computed(); charged != 10+want {
				t.Errorf("%d tokens are charged, want %d", charged, 10+want)
			}
		})
	}
}

// Tokens that were guessed beyond the end of an answer are computed, and not charged.
func TestScheduler_End_GuessesBeyondItAreFree(t *testing.T) {
	const length = 60
	use := func(guesses bool) scheduler.Usage {
		b := schedulertest.New(scheduler.Limits{})
		b.Cost, b.End = flat, length
		var d draft.Drafter
		if guesses {
			d = &seer{backend: b, rng: rand.New(rand.NewPCG(1, 1)), sure: true}
		}
		s := newScheduler(t, b, scheduler.Config{Drafter: d})
		return finish(t, s, submit(t, s, request(10, 1, 0)))[0].end.Usage
	}
	plain, guessed := use(false), use(true)
	if guessed.Drafted <= guessed.Accepted {
		t.Fatalf("no guess was in vain: %+v", guessed)
	}
	if plain.Computed() != guessed.Computed() || plain.Computed() != length+1 {
		t.Errorf("%d tokens are charged without guesses and %d with them, want %d", plain.Computed(), guessed.Computed(), length+1)
	}
}
