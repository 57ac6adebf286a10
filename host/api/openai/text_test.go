// SPDX-License-Identifier: MIT

package openai

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/host/api/wire"
)

func TestBest_MostLikelyOnAverage(t *testing.T) {
	of := func(logprobs ...float32) *wire.Whole {
		w := &wire.Whole{}
		for _, l := range logprobs {
			w.Probs = append(w.Probs, wire.TokenProb{Logprob: l})
		}
		return w
	}
	all := []*wire.Whole{of(-3, -1), of(-1, -1, -1, -1), of(-2), of(-1)}
	for n, want := range map[int][]int{1: {1}, 2: {1, 3}, 3: {1, 3, 0}, 4: {0, 1, 2, 3}} {
		if diff := cmp.Diff(want, mostLikely(all, n)); diff != "" {
			t.Errorf("%d of 4: %s", n, diff)
		}
	}
}
