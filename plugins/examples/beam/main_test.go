// SPDX-License-Identifier: MIT

package main

import (
	"math"
	"slices"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

// garden is a model of five tokens, of which 0 ends the answer. The likely first token leads to
// unlikely ones: a greedy answer is not the most likely one.
func garden(tokens []penstock.Token) []float32 {
	after := map[penstock.Token][]float64{
		4: {0.01, 0.6, 0.37, 0.01, 0.01}, // the prompt
		1: {0.3, 0.2, 0.2, 0.2, 0.1},
		2: {0.01, 0.01, 0.01, 0.96, 0.01},
		3: {0.9, 0.03, 0.03, 0.03, 0.01},
	}
	row := make([]float32, 5)
	for t, p := range after[tokens[len(tokens)-1]] {
		row[t] = float32(math.Log(p)) + 3 // logits are log-probabilities but for a constant
	}
	return row
}

func request(config string, most int) plugintest.Request {
	return plugintest.Request{Config: config, Pieces: []string{"", "a", "b", "c", "go"}, Prompt: []penstock.Token{4}, MaxTokens: most, ContextSize: 64,
		Attributes: map[penstock.Token]penstock.Attributes{0: penstock.AttrEnd}, Says: garden}
}

func TestBeam_Run_FindsWhatGreedyDoesNot(t *testing.T) {
	for name, c := range map[string]struct {
		config string
		most   int
		want   []penstock.Token
	}{
		"one":        {`{"width":1}`, 8, []penstock.Token{1}},
		"two":        {`{"width":2}`, 8, []penstock.Token{2, 3}},
		"four":       {`{}`, 8, []penstock.Token{2, 3}},
		"by the sum": {`{"length_penalty":0}`, 8, []penstock.Token{2, 3}},
		"cut short":  {`{"width":3}`, 1, []penstock.Token{1}},
	} {
		t.Run(name, func(t *testing.T) {
			shown, err := plugintest.Open[beam](t, request(c.config, c.most)).Run()
			if err != nil {
				t.Fatal(err)
			}
			var got []penstock.Token
			for _, s := range shown {
				got = append(got, s.Token)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("it shows %v, want %v", got, c.want)
			}
		})
	}
}

// A program with more branches than its manifest says would be told so.
func TestBeam_Run_NeedsNoMoreBranchesThanItSays(t *testing.T) {
	s := plugintest.Open[beam](t, request(`{"width":4,"length_penalty":-1}`, 12))
	if _, err := s.Run(); err != nil {
		t.Fatal(err)
	}
	if n := s.Computed(); n < 4 || n > 4*12 {
		t.Errorf("%d rows were computed", n)
	}
}
