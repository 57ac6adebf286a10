// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// alternating is a native stage with a grammar: even and odd tokens take turns, an even one first.
type alternating struct {
	guest
	n int // accepted
}

func (a *alternating) Traits() chain.Traits {
	t := a.guest.Traits()
	t.Guards = true
	return t
}

func (a *alternating) Fits(tokens []scheduler.Token) (int, error) {
	for i, t := range tokens {
		if int(t)%2 != (a.n+i)%2 {
			return i, nil
		}
	}
	return len(tokens), nil
}

// Apply chooses the best that fits.
func (a *alternating) Apply(v *chain.View) error {
	best := -1
	for t := a.n % 2; t < len(v.Row); t += 2 {
		if v.Row[t] > float32(math.Inf(-1)) && (best < 0 || v.Row[t] > v.Row[best]) {
			best = t
		}
	}
	if best < 0 {
		return chain.ErrNoToken
	}
	v.Chosen = scheduler.Token(best)
	return nil
}

func (a *alternating) Accept(t scheduler.Token) (chain.Effect, error) {
	if n, _ := a.Fits([]scheduler.Token{t}); n < 1 {
		return chain.Effect{}, errors.New("the grammar was broken")
	}
	a.n++
	return chain.Effect{}, nil
}

func (a *alternating) Reset(history []scheduler.Token, prompt int) error {
	a.n = len(history) - prompt
	return nil
}

// answerable is a guest that learns what is refused. Where it may be skipped, it asks for nothing
// from then on.
type answerable struct {
	guest
	skip bool
	acts []chain.Act
	why  error
}

var errRefused = errors.New("the fault of the answerable stage")

func (a *answerable) Traits() chain.Traits {
	t := a.guest.Traits()
	t.Refuse = a.refuse
	return t
}

func (a *answerable) refuse(act chain.Act, why error) error {
	a.acts, a.why = append(a.acts, act), why
	if !a.skip {
		return errRefused
	}
	a.prepare, a.apply, a.accept = nil, nil, nil
	return nil
}

func only(tokens ...scheduler.Token) []uint32 {
	mask := make([]uint32, 8)
	for _, t := range tokens {
		mask[t/32] |= 1 << (t % 32)
	}
	return mask
}

func preparing(p chain.Prepared) guest {
	return guest{prepare: func() (chain.Prepared, error) { return p, nil }}
}

// accepting answers the nth accepted token with a splice, and those after it where always is set.
func accepting(nth int, always bool, backtrack int32, tokens ...scheduler.Token) guest {
	n := 0
	return guest{hold: 4, accept: func(scheduler.Token) (chain.Effect, error) {
		if n++; n == nth || always && n > nth {
			return chain.Effect{Splice: true, Backtrack: backtrack, Tokens: tokens}, nil
		}
		return chain.Effect{}, nil
	}}
}

// wrongs are stages that ask for what the grammar, or another stage, does not allow.
func wrongs() map[string]struct {
	stage guest
	act   chain.Act
	why   string
} {
	inf := float32(math.Inf(-1))
	var everything []chain.Bias
	for t := range scheduler.Token(256) {
		everything = append(everything, chain.Bias{Token: t, Value: inf})
	}
	choose := guest{apply: func(v *chain.View) error { v.Chosen = 3; return nil }}
	return map[string]struct {
		stage guest
		act   chain.Act
		why   string
	}{
		"forces":           {preparing(chain.Prepared{Forced: []chain.Token{3}}), chain.ActForce, "token 3 does not fit"},
		"chooses":          {choose, chain.ActChoose, "token 3 does not fit"},
		"masks":            {preparing(chain.Prepared{Mask: only(3, 5)}), chain.ActMask, "leave nothing of it"},
		"masks nothing":    {preparing(chain.Prepared{Mask: only()}), chain.ActMask, "leave no token"},
		"bans everything":  {preparing(chain.Prepared{Bias: everything}), chain.ActMask, "leave no token"},
		"masks and bans":   {preparing(chain.Prepared{Mask: only(2), Bias: []chain.Bias{{Token: 2, Value: inf}}}), chain.ActMask, "leave no token"},
		"appends":          {accepting(1, false, 0, 1, 3), chain.ActSplice, "token 3 of the splice"},
		"replaces":         {accepting(2, false, 1, 2), chain.ActSplice, "token 2 of the splice"},
		"goes far back":    {accepting(4, false, 3, 1, 1), chain.ActSplice, "token 1 of the splice"},
		"goes too far":     {accepting(4, false, 5), chain.ActSplice, "5 tokens are taken back"},
		"no such token":    {accepting(1, false, 0, 256), chain.ActSplice, "not in the vocabulary"},
		"splices for ever": {accepting(1, true, 1), chain.ActSplice, "too often"},
	}
}

func TestGuard_Wrong_IsTheStagesFault(t *testing.T) {
	for _, before := range []bool{false, true} {
		for name, c := range wrongs() {
			s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
			stage := &answerable{guest: c.stage}
			stages := []chain.Stage{stage, &alternating{}}
			if before && c.act == chain.ActSplice { // the grammar has seen the last token when the stage splices
				slices.Reverse(stages)
			}
			if before && c.act != chain.ActSplice {
				stages = append([]chain.Stage{&guest{}}, stages...)
			}
			r := request(10, 1, 40)
			r.IgnoreEOG = true
			r.Chain = stages
			a := complete(s, submit(t, s, r))
			if !errors.Is(a.end.Err, errRefused) || !slices.Equal(stage.acts, []chain.Act{c.act}) || !strings.Contains(stage.why.Error(), c.why) {
				t.Errorf("%s (%v): ended with %v; acts %v, because %v; want act %d", name, before, a.end.Err, stage.acts, stage.why, c.act)
			}
		}
	}
}

// TestGuard_Wrong_Skipped: the answer is that of the chain without the stage. What a splice for
// ever took back before is chosen again.
func TestGuard_Wrong_Skipped(t *testing.T) {
	plain := func(t *testing.T) []scheduler.Token {
		s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
		r := request(10, 1, 40)
		r.IgnoreEOG = true
		r.Chain = []chain.Stage{&guest{hold: 4}, &alternating{}}
		return complete(s, submit(t, s, r)).tokens
	}
	want := plain(t)
	for name, c := range wrongs() {
		s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
		stage := &answerable{guest: c.stage, skip: true}
		r := request(10, 1, 40)
		r.IgnoreEOG = true
		r.Chain = []chain.Stage{stage, &alternating{}}
		a := complete(s, submit(t, s, r))
		if a.end.Reason != answer.ReasonLength || !slices.Equal(a.tokens, want) || !slices.Equal(stage.acts, []chain.Act{c.act}) {
			t.Errorf("%s: %v (%v), acts %v\n%v, want\n%v", name, a.end.Reason, a.end.Err, stage.acts, a.tokens, want)
		}
	}
}

// TestGuard_EmptyMask_TheLastThatTookAway: of stages whose masks have nothing in common, the last
// is left out.
func TestGuard_EmptyMask_TheLastThatTookAway(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	first := &answerable{guest: preparing(chain.Prepared{Mask: only(2, 3, 4, 5)}), skip: true}
	second := &answerable{guest: preparing(chain.Prepared{Mask: only(6, 7)}), skip: true}
	third := &answerable{guest: preparing(chain.Prepared{Mask: only(2, 3, 4, 5, 6, 7)}), skip: true}
	r := request(10, 1, 6)
	r.IgnoreEOG = true
	r.Chain = []chain.Stage{first, second, third, &alternating{}}
	a := complete(s, submit(t, s, r))
	if a.end.Reason != answer.ReasonLength || len(first.acts)+len(third.acts) != 0 || len(second.acts) != 1 {
		t.Errorf("%v (%v); refused %v, %v, %v", a.end.Reason, a.end.Err, first.acts, second.acts, third.acts)
	}
	if slices.ContainsFunc(a.tokens, func(t scheduler.Token) bool { return t < 2 || t > 5 }) {
		t.Errorf("%v", a.tokens)
	}
}

// TestGuard_Splice_Fits: what fits is spliced, from before and after the grammar, and an end among
// it ends the answer.
func TestGuard_Splice_Fits(t *testing.T) {
	for _, before := range []bool{false, true} {
		s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
		splice := accepting(3, false, 2, 3, 4, 5)
		stages := []chain.Stage{&splice, &alternating{}}
		if before {
			slices.Reverse(stages)
		}
		r := request(10, 1, 40)
		r.IgnoreEOG = true
		r.Chain, r.StopTokens = stages, []scheduler.Token{5}
		a := complete(s, submit(t, s, r))
		if a.end.Reason != answer.ReasonStop || len(a.tokens) != 3 || !slices.Equal(a.tokens[1:], []scheduler.Token{3, 4}) {
			t.Errorf("%v (%v), %v", a.end.Reason, a.end.Err, a.tokens)
		}
	}
}

// TestGuard_Splice_NoMaxTokens: without a limit of its own, an answer has the context's.
func TestGuard_Splice_NoMaxTokens(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{Context: 64}), scheduler.Config{})
	stage := &answerable{guest: accepting(1, true, 1)}
	r := guided(0, stage)
	r.IgnoreEOG = true
	a := complete(s, submit(t, s, r))
	if !errors.Is(a.end.Err, errRefused) || !errors.Is(stage.why, answer.ErrSpliceLimit) {
		t.Errorf("%v, because %v", a.end.Err, stage.why)
	}
}
