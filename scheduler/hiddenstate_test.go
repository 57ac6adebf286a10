// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// prober wants the hidden states of the tokens it is told of. That of the simulated model tells
// the token the model says.
type prober struct {
	guest
	state  []float32
	wrong  string // the first that was wrong
	states int    // that it has had in accept
	forces int    // after so many tokens it forces three, which come without rows of their own but for the first
	told   int
}

func (p *prober) Traits() chain.Traits {
	return chain.Traits{Prepares: true, Lasts: true, HiddenState: func(s []float32) { p.state = s }}
}

func (p *prober) Prepare() (chain.Prepared, error) {
	if p.forces > 0 && p.told == p.forces {
		return chain.Prepared{Forced: []scheduler.Token{3, 4, 5}}, nil
	}
	return chain.Prepared{}, nil
}

func (p *prober) Apply(v *chain.View) error {
	p.check("drawn from", func(says int) bool { return v.Row[says] == 10 })
	return nil
}

func (p *prober) Accept(t scheduler.Token) (chain.Effect, error) {
	p.told++
	if len(p.state) > 0 {
		p.states++
	}
	return chain.Effect{}, nil
}

func (p *prober) check(what string, fits func(says int) bool) {
	switch {
	case p.wrong != "":
	case len(p.state) != stateWidth:
		p.wrong = fmt.Sprintf("the state of the row that is %s has %d numbers", what, len(p.state))
	case !fits(int(p.state[0])) || p.state[0] != p.state[stateWidth-1]:
		p.wrong = fmt.Sprintf("the row that is %s has another's state", what)
	}
}

const stateWidth = 4

// A stage that wants hidden states has that of each row, with drafts and beside others; those
// tokens that come without a row have none.
func TestHiddenState_StagesHaveTheirRows(t *testing.T) {
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 5))
		b := schedulertest.New(scheduler.Limits{HiddenState: stateWidth})
		b.Cost = flat
		s := newScheduler(t, b, scheduler.Config{Drafter: &seer{backend: b, rng: rng, errs: 0.2}, MostDrafted: 8})
		probers := []*prober{{}, {}, {forces: 4}}
		var streams []*scheduler.Stream
		for i, p := range probers {
			r := request(5+rng.IntN(40), i, 40)
			r.Chain = []chain.Stage{p, schedulertest.Sampled{}}
			if i == 1 {
				r.Chain = []chain.Stage{&weaver{rng: rand.New(rand.NewPCG(seed, 6)), hold: 3}, p, schedulertest.Sampled{}}
			}
			streams = append(streams, submit(t, s, r))
		}
		streams = append(streams, submit(t, s, request(60, 9, 40)))
		finish(t, s, streams...)
		for i, p := range probers {
			if p.wrong != "" || p.states == 0 {
				t.Fatalf("seed %d, answer %d: %s; %d states in accept", seed, i, p.wrong, p.states)
			}
		}
		if p := probers[2]; p.told-p.states != 2 {
			t.Errorf("seed %d: %d of %d tokens had a state; the two that were forced to follow have none", seed, p.states, p.told)
		}
		if p := probers[0]; p.states != p.told {
			t.Errorf("seed %d: %d of %d tokens had a state", seed, p.states, p.told)
		}
	}
}

// Passes are asked for hidden states only while a stage wants them, and a row that is only
// computed for others' prompts does not count.
func TestHiddenState_OnlyAskedForWhereWanted(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{HiddenState: stateWidth})
	asked := 0
	b.Fail = func(batch *scheduler.Batch) error {
		if batch.HiddenStates {
			asked++
		}
		return nil
	}
	s := newScheduler(t, b, scheduler.Config{})
	finish(t, s, submit(t, s, request(20, 1, 20)))
	if asked > 0 {
		t.Fatalf("%d passes were asked for states that nobody wants", asked)
	}
	r := request(20, 2, 5)
	r.Chain = []chain.Stage{&prober{}, schedulertest.Sampled{}}
	finish(t, s, submit(t, s, r), submit(t, s, request(20, 3, 50)))
	if asked != 5 {
		t.Errorf("%d passes were asked for states; one answer wants those of 5 tokens", asked)
	}
}

// What a client injects comes without a row, and so without a state.
func TestHiddenState_InjectedTokensHaveNone(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{HiddenState: stateWidth})
	s := newScheduler(t, b, scheduler.Config{})
	p := &prober{}
	r := request(20, 2, 8)
	r.Chain = []chain.Stage{p, schedulertest.Sampled{}}
	r.Begun = answer.Begun{Tokens: []scheduler.Token{7, 8, 9}}
	finish(t, s, submit(t, s, r))
	if p.wrong != "" || p.states != 5 || p.told != 8 {
		t.Errorf("%s; %d of %d tokens had a state, want 5 of 8", p.wrong, p.states, p.told)
	}
}
