// SPDX-License-Identifier: MIT

package drive

import (
	"math"
	"slices"
	"testing"

	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/tools/must"
)

func TestTable_Row_IsThatOfTheLongestEntry(t *testing.T) {
	table := Table{
		{Logits: []float32{1, 0, 0}},
		{After: []int32{1}, Logits: []float32{0, 2, 0}},
		{After: []int32{1}, Logits: []float32{9, 9, 9}}, // as long, and later
		{After: []int32{0, 1}, Probabilities: []float64{1, 0, 0}},
		{After: []int32{-1, 2}, Says: []int32{2, 2, 0}},
	}
	impossible := float32(math.Inf(-1))
	for _, c := range []struct{ tokens, row []float32 }{
		{[]float32{2}, []float32{1, 0, 0}},
		{[]float32{1}, []float32{0, 2, 0}},
		{[]float32{0, 1}, []float32{0, impossible, impossible}},
		{[]float32{0, -1, 2}, []float32{0, 0, 10}},
		{[]float32{0, -1, 2, 2}, []float32{0, 0, 10}},
		{[]float32{-1, 2, 2, 2}, []float32{10, 0, 0}},
		{[]float32{-1, 2, 2, 2, 0}, []float32{1, 0, 0}}, // it has said all
	} {
		var tokens []int32
		for _, t := range c.tokens {
			tokens = append(tokens, int32(t))
		}
		if got := table.Row(3, tokens); !slices.Equal(got, c.row) {
			t.Errorf("after %v it says %v, want %v", tokens, got, c.row)
		}
	}
	if got := (Table{}).Row(2, []int32{1}); !slices.Equal(got, []float32{0, 0}) {
		t.Errorf("an empty table says %v", got)
	}
}

func TestChains_DrawAsTheParametersSay(t *testing.T) {
	row := []float32{float32(math.Log(0.1)), float32(math.Log(0.6)), float32(math.Log(0.25)), float32(math.Log(0.05)), Banned}
	for changes, want := range map[string][]int32{
		`{"temperature":0}`:                      {1},
		`{"top_k":2}`:                            {1, 2},
		`{"top_p":0.7}`:                          {1, 2},
		`{"min_p":0.3}`:                          {1, 2},
		`{"temperature":2}`:                      {0, 1, 2, 3},
		`{"top_k":1,"samplers":["temperature"]}`: {0, 1, 2, 3},
		`{"top_k":3,"temperature":3,"samplers":["top_k","dry"]}`: {0, 1, 2},
	} {
		counts := draws(t, changes, row, 2000)
		var got []int32
		for token, n := range counts {
			if n > 0 {
				got = append(got, int32(token))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v were drawn, want %v", changes, got, want)
		}
	}
	plain := draws(t, `{"temperature":1,"samplers":["temperature"]}`, row, 20000)
	if share := float64(plain[1]) / 20000; math.Abs(share-0.6) > 0.02 {
		t.Errorf("a token of probability 0.6 was drawn in a share of %v", share)
	}
	for _, changes := range []string{`{"temperature":-1}`, `{"top_p":2}`, `{"typical":1}`, `{`} {
		if _, err := Chains(nil)(t.Context(), []byte(changes)); err == nil {
			t.Errorf("%s makes a chain", changes)
		}
	}
}

func draws(t *testing.T, changes string, row []float32, n int) (counts [5]int) {
	t.Helper()
	make := must.Get(Chains([]byte(`{"min_p":0,"top_p":1,"repeat_penalty":2}`))(t.Context(), []byte(changes)))(t)
	stages := must.Get(make(7))(t)
	for range n {
		v := &chain.View{Row: row, N: -1, Chosen: -1}
		must.Do(t, stages[0].Apply(v))
		counts[v.Chosen]++
	}
	return counts
}
