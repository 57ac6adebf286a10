// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/draft"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// tardy is a native stage some of whose tokens take long to draw.
type tardy struct {
	schedulertest.Greedy
	quick int           // tokens before the first of them
	every int           // from then on each token of so many takes long; 0: all
	gate  chan struct{} // they wait for it; nil: they do not
	slow  bool
	seen  int
	late  int // tokens that a background sampler has drawn
}

func (s *tardy) tarries() bool {
	return s.seen >= s.quick && (s.every == 0 || (s.seen-s.quick)%s.every == 0)
}

func (s *tardy) Native() bool { return !s.slow }

func (s *tardy) Apply(v *chain.View) error {
	if s.gate != nil {
		<-s.gate
	}
	if s.slow {
		s.late++
		s.slow = s.every == 0
	}
	return s.Greedy.Apply(v)
}

func (s *tardy) Accept(scheduler.Token) (chain.Effect, error) {
	s.seen++
	return chain.Effect{}, nil
}

// patient is a backend that does not draw what takes long.
type patient struct{ *schedulertest.Backend }

func (p patient) SampleRows(draws []scheduler.Draw) {
	p.Backend.SampleRows(draws)
	for i := range draws {
		if s, ok := draws[i].Stage.(*tardy); ok && s.tarries() {
			s.slow = true
			draws[i].Token, draws[i].Err = -1, chain.ErrSlow
		}
	}
}

// A token that would take long to draw is drawn by a background sampler: from the row that it was
// to be drawn from, also within a draft.
func TestScheduler_Sample_SlowDraw_SameEvents(t *testing.T) {
	for seed := range uint64(60) {
		answers := func(quick, every func(i int) int) (all [][]string) {
			rng := rand.New(rand.NewPCG(seed, 9))
			b := schedulertest.New(scheduler.Limits{Context: 256, SeparatePasses: seed%2 == 0})
			b.Cost = flat
			if seed%3 == 1 {
				b.Recurrent, b.Snapshots = true, 1+int(seed)%9
			}
			var drafter draft.Drafter
			if seed%4 > 0 {
				drafter = &seer{backend: b, rng: rng, errs: 0.2}
			}
			s := newScheduler(t, patient{b}, scheduler.Config{Slots: 4, Drafter: drafter})
			var streams []*scheduler.Stream
			for i := range 6 {
				r := request(5+rng.IntN(100), i, 1+rng.IntN(120))
				r.Chain = []chain.Stage{&tardy{quick: quick(i), every: every(i)}}
				streams = append(streams, submit(t, s, r))
			}
			for _, a := range finish(t, s, streams...) {
				all = append(all, shown(a))
			}
			return all
		}
		always := func(int) int { return 0 }
		want := answers(func(int) int { return 1000 }, always)
		begin := func(i int) int { return int(seed) % (7 + 3*i) }
		if diff := cmp.Diff(want, answers(begin, always)); diff != "" {
			t.Fatalf("seed %d: -quick +slow\n%s", seed, diff)
		}
		if diff := cmp.Diff(want, answers(begin, func(i int) int { return 1 + (int(seed)+i)%5 })); diff != "" {
			t.Fatalf("seed %d: -quick +slow now and then\n%s", seed, diff)
		}
	}
}

// A token that takes long to draw, however long, holds up no other answer.
func TestScheduler_Sample_SlowDraw_HoldsUpNobody(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	s := newScheduler(t, patient{b}, scheduler.Config{})
	gate := make(chan struct{})
	r := request(10, 1, 30)
	r.Chain = []chain.Stage{&tardy{quick: 3, gate: gate}}
	slow := submit(t, s, r)
	beside := submit(t, s, request(10, 2, 100))
	late, neighbour := new(received), new(received)
	for neighbour.end == nil {
		s.Tick()
		late.read(slow)
		neighbour.read(beside)
	}
	if len(late.tokens) != 3 || len(neighbour.tokens) != 100 {
		t.Errorf("%d tokens of the answer that takes long, %d of its neighbour", len(late.tokens), len(neighbour.tokens))
	}
	close(gate)
	for late.end == nil {
		s.Tick()
		late.read(slow)
	}
	if want := alone(t, request(10, 1, 30)); !slices.Equal(late.tokens, want.tokens) {
		t.Errorf("its tokens are %v, else %v", late.tokens, want.tokens)
	}
}

// An answer whose draws are quick again is drawn by the tick again.
func TestScheduler_Sample_SlowDraw_BackToTheTick(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	s := newScheduler(t, patient{b}, scheduler.Config{})
	stage := &tardy{quick: 3, every: 10}
	r := request(10, 1, 50)
	r.Chain = []chain.Stage{stage}
	got := finish(t, s, submit(t, s, r))[0]
	if want := alone(t, request(10, 1, 50)); !slices.Equal(got.tokens, want.tokens) {
		t.Errorf("its tokens are %v, else %v", got.tokens, want.tokens)
	}
	if stage.late != 5 {
		t.Errorf("a background sampler has drawn %d tokens of 50, of which 5 take long", stage.late)
	}
}
