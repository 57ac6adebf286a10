// SPDX-License-Identifier: MIT

package answer

import (
	"errors"
	"testing"

	"github.com/penstock/penstock/scheduler/chain"
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
