// SPDX-License-Identifier: MIT

package answer

import (
	"errors"
	"testing"

	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/must"
)

// endless takes each token back, as long as it may.
type endless struct {
	editor
	more int
}

func (e *endless) Traits() chain.Traits {
	return chain.Traits{Hold: 1, TakeBack: e.more, Refuse: e.refuse}
}

func (e *endless) Accept(chain.Token) (chain.Effect, error) {
	return chain.Effect{Splice: e.refused == nil, Backtrack: 1}, nil
}

// A stage may ask for more tokens than the usual 2n + 256.
func TestAnswer_Splice_TakeBackAddsToTheLimit(t *testing.T) {
	for _, more := range []int{0, 1000} {
		e := &endless{more: more}
		a := begin(t, Settings{MaxTokens: 10}, e)
		n := 0
		for ; e.refused == nil && n < 5000; n++ {
			a.Advance(5, Details{})
		}
		if want := 2*10 + spliceAllowance + 1 + more; n != want || !errors.Is(e.refused, ErrSpliceLimit) {
			t.Errorf("with %d more, %d tokens were computed, want %d; %v", more, n, want, e.refused)
		}
	}
}

// judging is a required stage that ends the answer at 5 and allows no token above 50.
type judging struct{ editor }

func (e *judging) Traits() chain.Traits                       { return chain.Traits{Name: "judging", Required: true} }
func (e *judging) Allows(t chain.Token) (bool, error)         { return t <= 50, nil }
func (e *judging) Accept(t chain.Token) (chain.Effect, error) { return chain.Effect{Stop: t == 5}, nil }

// putting answers each token by putting one after it.
type putting struct{ editor }

func (p *putting) Accept(chain.Token) (chain.Effect, error) {
	return chain.Effect{Splice: true, Tokens: []chain.Token{6}}, nil
}

// What a required stage ends stays ended, though a stage before it has the answer go on.
func TestAnswer_Required_EndsBeforeOthersGoOn(t *testing.T) {
	a := begin(t, Settings{}, &putting{}, &judging{})
	if a.Advance(4, Details{}); a.Output().Reason != 0 {
		t.Errorf("%v at 4", a.Output().Reason)
	}
	if a.Advance(5, Details{}); a.Output().Reason != ReasonStop {
		t.Errorf("%v at 5: %v", a.Output().Reason, a.Tokens())
	}
}

// A token that is not allowed ends an injection, and of a fork's beginning only what was allowed
// before needs no other judgement.
func TestAnswer_Required_JudgesInjections(t *testing.T) {
	a := begin(t, Settings{}, &judging{})
	if err := a.Inject([]chain.Token{7, 60, 8}); !errors.Is(err, chain.ErrNotAllowed) || len(a.Tokens()) != 3 || a.Output().Reason != 0 {
		t.Errorf("%v: %v", err, a.Tokens())
	}
	for passed, ends := range []bool{true, false} {
		fork := queued(Settings{}, &judging{})
		fork.BeginWith(Begun{Tokens: []chain.Token{60, 7}, Passed: passed})
		must.Do(t, fork.Begin())
		if fork.InjectEarly(); (fork.Output().Reason == ReasonError) != ends {
			t.Errorf("with %d passed: %v", passed, fork.Output().Err)
		}
	}
}
