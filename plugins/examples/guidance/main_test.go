// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

var pieces = []string{"", "x", "a", "b", "c", "no "}

// moods is a model that says a mostly, b where the first token is "no ", and c where it is told
// one token alone.
func moods(tokens []penstock.Token) []float32 {
	p := []float64{0.02, 0.03, 0.5, 0.35, 0.05, 0.05}
	switch {
	case tokens[0] == 5:
		p = []float64{0.02, 0.03, 0.7, 0.1, 0.1, 0.05}
	case tokens[0] == 2:
		p = []float64{0.02, 0.03, 0.3, 0.6, 0.0005, 0.0495}
	}
	row := make([]float32, len(pieces))
	for t := range row {
		row[t] = float32(math.Log(p[t])) + 4
	}
	return row
}

func TestGuidance_Run_GoesAwayFromTheOther(t *testing.T) {
	for name, c := range map[string]struct {
		config string
		want   penstock.Token
	}{
		"no guidance":             {`{"scale":1,"negative":"no "}`, 2},
		"a negative prompt":       {`{"scale":1.5,"negative":"no "}`, 3},
		"only the other":          {`{"scale":0,"negative":"a"}`, 3},
		"a conversation":          {`{"scale":1.5,"messages":[{"role":"system","content":"no "}]}`, 3},
		"less context":            {`{"scale":3,"context":1,"plausible":0}`, 4},
		"less context, plausibly": {`{"scale":3,"context":1}`, 2},
		"half of it by default":   {`{"scale":3,"plausible":0}`, 4},
		"without pictures":        {`{"scale":3,"context":2,"plausible":0}`, 4},
	} {
		t.Run(name, func(t *testing.T) {
			s := plugintest.Open[guidance](t, plugintest.Request{Config: c.config, Pieces: pieces, Prompt: []penstock.Token{1, penstock.MediaToken, 2}, MaxTokens: 1,
				ContextSize: 64, Says: moods, Sampling: `{"temperature":0}`, Template: func(messages string) ([]penstock.Token, error) {
					if want := `[{"content":"no ","role":"system"}]`; messages != want {
						return nil, fmt.Errorf("%s, want %s", messages, want)
					}
					return []penstock.Token{5, 1}, nil
				}})
			shown, err := s.Run()
			if err != nil || len(shown) != 1 || shown[0].Token != c.want {
				t.Errorf("it shows %v, want %d: %v", shown, c.want, err)
			}
		})
	}
}

// Both branches grow by what is shown.
func TestGuidance_Run_BothRead(t *testing.T) {
	s := plugintest.Open[guidance](t, plugintest.Request{Config: `{"negative":"no "}`, Pieces: pieces, Prompt: []penstock.Token{1, 1}, MaxTokens: 3, ContextSize: 64,
		Sampling: `{"temperature":0}`, Says: func(tokens []penstock.Token) []float32 {
			row := make([]float32, len(pieces))
			row[slices.Index(pieces, "a")+len(tokens)%2] = 1
			return row
		}})
	shown, err := s.Run()
	if err != nil || len(shown) != 3 || shown[0].Token == shown[1].Token {
		t.Errorf("it shows %v: %v", shown, err)
	}
}
