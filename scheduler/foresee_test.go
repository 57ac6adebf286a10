// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"io"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/draft"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// prophet is a native stage that foresees the tokens of its answer, and errs now and then.
type prophet struct {
	schedulertest.Greedy
	backend *schedulertest.Backend
	rng     *rand.Rand
	errs    float64
	often   float64       // the part of the tokens at which it foresees something
	takes   time.Duration // to be asked
	history []scheduler.Token
	panics  bool
}

func (o *prophet) Traits() chain.Traits { return chain.Traits{Foresees: true} }

func (o *prophet) Accept(t scheduler.Token) (chain.Effect, error) {
	o.history = append(o.history, t)
	return chain.Effect{}, nil
}

func (o *prophet) Reset(history []scheduler.Token, _ int) error {
	o.history = append(o.history[:0], history...)
	return nil
}

func (o *prophet) Foresee(most int) []scheduler.Token {
	if o.panics {
		panic("a stage that cannot see")
	}
	o.backend.Advance(o.takes)
	if o.rng.Float64() >= o.often {
		return nil
	}
	tokens := o.backend.GoesOn(o.history, most)
	for i := range tokens {
		if o.rng.Float64() < o.errs {
			tokens[i] = 1 + tokens[i]%200
		}
	}
	return tokens
}

// Whatever stages foresee, and whatever a drafter guesses besides, each answer shows the same as
// without.
func TestForesee_AnyForesight_SameEvents(t *testing.T) {
	for seed := range uint64(40) {
		answers := func(often float64) (all [][]string, accepted int) {
			rng := rand.New(rand.NewPCG(seed, 5))
			b := schedulertest.New(scheduler.Limits{Context: 256, SeparatePasses: seed%2 == 0})
			b.Cost = flat
			if seed%3 == 1 {
				b.Recurrent, b.Snapshots = true, 1+int(seed)%9
			}
			drafter := anyDrafter(b, rng)
			if drafter == nil {
				drafter = draft.NewLookup(3)
			}
			s := newScheduler(t, b, scheduler.Config{Slots: 4, Drafter: drafter, Log: logOf(drafter)})
			var streams []*scheduler.Stream
			for i := range 6 {
				r := request(5+rng.IntN(100), i, 1+rng.IntN(120))
				o := &prophet{backend: b, rng: rand.New(rand.NewPCG(seed, uint64(i))), often: often, errs: 0.1 * float64(i)}
				if r.Chain = []chain.Stage{o}; i == 3 {
					r.Logprobs = 1 // a background sampler draws
				}
				streams = append(streams, submit(t, s, r))
			}
			for _, a := range finish(t, s, streams...) {
				all, accepted = append(all, shown(a)), accepted+a.end.Usage.Accepted
			}
			return all, accepted
		}
		want, _ := answers(0)
		got, accepted := answers(0.5)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d, %d accepted: -without +with\n%s", seed, accepted, diff)
		}
	}
}

// An answer whose stage foresees right takes few passes, also from its first token on; where
// further rows cost as much as tokens, and where the stage is wrong, next to nothing is lost.
func TestForesee_Passes(t *testing.T) {
	const most = 300
	steep := func(n, _ int) time.Duration { return time.Duration(n) * 5 * time.Millisecond }
	took := func(cost func(int, int) time.Duration, often, errs float64, takes time.Duration) (time.Duration, scheduler.Usage) {
		b := schedulertest.New(scheduler.Limits{})
		b.Cost = cost
		s := newScheduler(t, b, scheduler.Config{Drafter: draft.NewLookup(1000)})
		r := request(10, 1, most)
		r.IgnoreEOG = true
		r.Chain = []chain.Stage{&prophet{backend: b, rng: rand.New(rand.NewPCG(1, 1)), often: often, errs: errs, takes: takes}}
		begun := b.Now()
		a := finish(t, s, submit(t, s, r))[0]
		return b.Now().Sub(begun), a.end.Usage
	}
	for name, c := range map[string]struct {
		cost        func(int, int) time.Duration
		often, errs float64
		takes       time.Duration
		most        float64 // of the time without
	}{
		"right":             {flat, 1, 0, 0, 0.4},
		"now and then":      {flat, 0.2, 0, 0, 0.6},
		"wrong":             {flat, 1, 1, 0, 1.03},
		"rows cost as much": {steep, 1, 0, 0, 1.03},
		"slow and right":    {flat, 1, 0, time.Millisecond, 0.6},
		"slow and wrong":    {flat, 1, 1, time.Millisecond, 1.03},
		"slow for nothing":  {flat, 0, 0, time.Millisecond, 1.03},
	} {
		alone, _ := took(c.cost, 0, 0, 0)
		with, usage := took(c.cost, c.often, c.errs, c.takes)
		if part := with.Seconds() / alone.Seconds(); part > c.most {
			t.Errorf("%s: it takes %.2f of the time without, %d of %d drafted tokens were right", name, part, usage.Accepted, usage.Drafted)
		} else {
			t.Logf("%s: %.3f of the time, %d of %d", name, part, usage.Accepted, usage.Drafted)
		}
	}
}

// A stage that panics when it is asked ahead costs nobody an answer.
func TestForesee_Panic(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	s := newScheduler(t, b, scheduler.Config{Drafter: draft.NewLookup(3), Log: quiet})
	r := request(10, 1, 20)
	r.Chain = []chain.Stage{&prophet{backend: b, panics: true}}
	if a := finish(t, s, submit(t, s, r))[0]; len(a.tokens) != 20 || a.end.Err != nil {
		t.Errorf("%d tokens, %v", len(a.tokens), a.end.Err)
	}
}
