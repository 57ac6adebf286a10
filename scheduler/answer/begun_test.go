// SPDX-License-Identifier: MIT

package answer

import (
	"testing"

	"github.com/penstock/penstock/scheduler/chain"
)

// A fork's first tokens are told with the log-probabilities that they had; those that were taken
// back and drawn again have their own.
func TestAnswer_BeginWith_TellsLogprobs(t *testing.T) {
	source := begin(t, Settings{}, &editor{hold: 1})
	source.Advance(4, Details{Logprobs: &chain.Logprobs{Token: -4}})
	source.Inject([]chain.Token{5})
	source.Advance(6, Details{Logprobs: &chain.Logprobs{Token: -6}})
	if err := source.Rewind(1); err != nil {
		t.Fatal(err)
	}
	source.Advance(7, Details{Logprobs: &chain.Logprobs{Token: -7}})

	for early := range 2 { // a token of it is taken back, and another injected, before it begins
		fork := queued(Settings{}, &editor{hold: 1})
		fork.BeginWith(source.Answered())
		want := []float32{-4, 0, -7}
		if early == 1 {
			if err := fork.Rewind(1); err != nil {
				t.Fatal(err)
			}
			fork.Inject([]chain.Token{8})
			want[2] = 0
		}
		if err := fork.Begin(); err != nil {
			t.Fatal(err)
		}
		fork.InjectEarly()
		fork.finish(ReasonLength)
		for i, s := range fork.Output().Shown {
			got := float32(0)
			if s.More != nil && s.More.Logprobs != nil {
				got = s.More.Logprobs.Token
			}
			if got != want[i] {
				t.Errorf("token %d, %d, has log-probability %v, want %v", i, s.Token, got, want[i])
			}
		}
		if n := len(fork.Output().Shown); n != len(want) {
			t.Errorf("%d tokens, want %d", n, len(want))
		}
	}
}
