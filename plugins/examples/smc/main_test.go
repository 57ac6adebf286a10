// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
	"github.com/penstock/penstock/plugins/sdk/go/plugintest"
)

// letters is a model of six tokens, of which 0 ends the text. After an a, which e mostly follows,
// little is left without one; after a b much is.
func letters(tokens []penstock.Token) []float32 {
	after := map[penstock.Token][]float64{
		5: {0.05, 0.6, 0.2, 0.1, 0.04, 0.01}, // the prompt
		1: {0.05, 0.03, 0.05, 0.05, 0.8, 0.02},
		2: {0.2, 0.3, 0.2, 0.2, 0.05, 0.05},
		3: {0.3, 0.1, 0.2, 0.1, 0.28, 0.02},
		4: {0.4, 0.2, 0.2, 0.1, 0.05, 0.05},
	}
	row := make([]float32, 6)
	for t, p := range after[tokens[len(tokens)-1]] {
		row[t] = float32(math.Log(p)) + 1
	}
	return row
}

const longest = 4

var pieces = []string{"", "a", "b", "c", "e", "go"}

func request(config string, seed uint64) plugintest.Request {
	return plugintest.Request{Config: config, Pieces: pieces, Prompt: []penstock.Token{5}, MaxTokens: longest, ContextSize: 64, Seed: seed,
		Attributes: map[penstock.Token]penstock.Attributes{0: penstock.AttrEnd}, Says: letters}
}

// enumerate finds how likely each text is that the rule allows, not knowing that others may come.
func enumerate(tokens []penstock.Token, text string, likely float64, all map[string]float64) {
	row := letters(tokens)
	sum := 0.0
	for _, l := range row {
		sum += math.Exp(float64(l))
	}
	for t, l := range row {
		p := likely * math.Exp(float64(l)) / sum
		switch {
		case t == 0:
			all[text] += p
		case t == 4 || t == 5:
		case len(tokens) == longest:
			all[text+pieces[t]] += p
		default:
			enumerate(append(tokens[:len(tokens):len(tokens)], penstock.Token(t)), text+pieces[t], p, all)
		}
	}
}

// The weighted particles of many runs are the exact posterior, and their evidence is how likely
// the model is to keep the rule by itself.
func TestSMC_Run_IsThePosterior(t *testing.T) {
	const runs = 500
	exact := map[string]float64{}
	enumerate([]penstock.Token{5}, "", 1, exact)
	want := 0.0
	for _, p := range exact {
		want += p
	}
	evidence, squares, found := 0.0, 0.0, map[string]float64{}
	for seed := range uint64(runs) {
		s := plugintest.Open[smc](t, request(`{"without":"eg","particles":8}`, seed))
		shown, err := s.Run()
		if err != nil || len(shown) > longest {
			t.Fatalf("%v: %v", shown, err)
		}
		var got struct {
			LogEvidence float64 `json:"log_evidence"`
			Particles   []struct {
				Text   string
				Weight float64
			}
		}
		if err := json.Unmarshal([]byte(s.Outputs[0]), &got); err != nil {
			t.Fatal(err)
		}
		z := math.Exp(got.LogEvidence)
		evidence, squares = evidence+z, squares+z*z
		for _, p := range got.Particles {
			found[p.Text] += z * p.Weight
		}
	}
	mean := evidence / runs
	if deviation := math.Sqrt((squares/runs - mean*mean) / runs); math.Abs(mean-want) > 4*deviation || deviation == 0 {
		t.Errorf("the evidence is %v ± %v, exactly it is %v", mean, deviation, want)
	}
	for text, p := range exact {
		if got := found[text] / evidence; math.Abs(got-p/want) > 0.03 {
			t.Errorf("%q has the weight %v, exactly %v", text, got, p/want)
		}
	}
	for text := range found {
		if exact[text] == 0 {
			t.Errorf("%q breaks the rule", text)
		}
	}
}
