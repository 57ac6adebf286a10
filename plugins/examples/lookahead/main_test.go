// SPDX-License-Identifier: MIT

package main

import (
	"math"
	"slices"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

// maze is a model of seven tokens, of which 0 ends the answer: 1 is the likelier way, but leads to
// where all is unlikely.
func maze(tokens []penstock.Token) []float32 {
	after := map[penstock.Token][]float64{
		6: {0.02, 0.5, 0.4, 0.02, 0.02, 0.02, 0.02},
		1: {0.1, 0.1, 0.1, 0.25, 0.2, 0.15, 0.1},
		2: {0.01, 0.01, 0.01, 0.01, 0.94, 0.01, 0.01},
		3: {0.2, 0.1, 0.1, 0.1, 0.1, 0.2, 0.2},
		4: {0.01, 0.01, 0.01, 0.01, 0.01, 0.94, 0.01},
		5: {0.94, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01},
	}
	row := make([]float32, 7)
	for t, p := range after[tokens[len(tokens)-1]] {
		row[t] = float32(math.Log(p)) + 2
	}
	return row
}

func look(t *testing.T, config string, most int) (tokens []penstock.Token, computed int) {
	t.Helper()
	s := plugintest.Open[lookahead](t, plugintest.Request{Config: config, Pieces: make([]string, 7), Prompt: []penstock.Token{6}, MaxTokens: most, ContextSize: 64,
		Attributes: map[penstock.Token]penstock.Attributes{0: penstock.AttrEnd}, Says: maze})
	shown, err := s.Run()
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range shown {
		tokens = append(tokens, token.Token)
	}
	return tokens, s.Computed()
}

func TestLookahead_Run_LooksWhereItIsUnsure(t *testing.T) {
	for name, c := range map[string]struct {
		config string
		most   int
		want   []penstock.Token
	}{
		"it looks":       {`{"width":2,"tokens":3}`, 16, []penstock.Token{2, 4, 5}},
		"it is sure":     {`{"width":2,"tokens":3,"entropy":5}`, 3, []penstock.Token{1, 3, 0}},
		"not far enough": {`{"width":2,"tokens":2,"entropy":0.5}`, 16, []penstock.Token{2, 4, 5}},
		"a limit":        {`{"width":3,"tokens":8}`, 2, []penstock.Token{2, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _ := look(t, c.config, c.most); !slices.Equal(got[:min(len(got), c.most)], trim(c.want)) {
				t.Errorf("it shows %v, want %v", got, trim(c.want))
			}
		})
	}
	_, all := look(t, `{"width":4,"tokens":3,"entropy":0}`, 16)
	if _, some := look(t, `{"width":4,"tokens":3}`, 16); some >= all {
		t.Errorf("it computes %d rows where it looks if it is unsure, %d where it always looks", some, all)
	}
}

// trim is what is shown of tokens: no end token.
func trim(tokens []penstock.Token) []penstock.Token {
	if i := slices.Index(tokens, 0); i >= 0 {
		return tokens[:i]
	}
	return tokens
}
