// SPDX-License-Identifier: MIT

package examples

import (
	"encoding/json"
	"math"
	"path/filepath"
	"testing"

	"github.com/penstock/penstock/host/plugin/session"
	"github.com/penstock/penstock/tools/steadytest"
)

// enumerate finds how likely each text is that has no e and no end of the prompt in it, as the
// model of a file says by itself.
func enumerate(f *session.File, tokens []session.Token, most int, text string, likely float64, all map[string]float64) {
	for t, l := range f.Table.Row(len(f.Vocabulary.Pieces), tokens) {
		p, piece := likely*math.Exp(float64(l)), string(f.Vocabulary.Pieces[t])
		switch {
		case t == 0:
			all[text] += p
		case piece == "e" || piece == "go":
		case most == 1:
			all[text+piece] += p
		default:
			enumerate(f, append(tokens[:len(tokens):len(tokens)], session.Token(t)), most-1, text+piece, p, all)
		}
	}
}

// TestSMC_Run_IsThePosterior has the module of smc write many answers, with the model of its cases.
// The weighted particles of all are the exact posterior, and their evidence is how likely the model
// is to keep the rule by itself. The same seeds draw the same.
func TestSMC_Run_IsThePosterior(t *testing.T) {
	runs := steadytest.InLongTest(500, 200)
	f := readSessions(t, filepath.Join(sources, "smc", "cases", "letters.json"))
	p, s := newPlayer(t, "smc", f), &f.Sessions[0]
	exact, want := map[string]float64{}, 0.0
	enumerate(f, s.Request.Prompt, s.Request.MaxTokens, "", 1, exact)
	for _, p := range exact {
		want += p
	}
	evidence, squares, found := 0.0, 0.0, map[string]float64{}
	for seed := range runs {
		s.Request.Seed, s.Calls = uint64(seed), []session.Call{{Call: session.CallOpen}, {Call: session.CallRun}}
		if _, err := p.Update(t.Context(), s); err != nil || len(s.Calls[1].Outputs) != 1 || len(s.Calls[1].Shown[0]) > s.Request.MaxTokens {
			t.Fatalf("seed %d: %+v, %v", seed, s.Calls[1], err)
		}
		var got struct {
			LogEvidence float64 `json:"log_evidence"`
			Particles   []struct {
				Text   string
				Weight float64
			}
		}
		if err := json.Unmarshal(s.Calls[1].Outputs[0], &got); err != nil {
			t.Fatal(err)
		}
		z := math.Exp(got.LogEvidence)
		evidence, squares = evidence+z, squares+z*z
		for _, p := range got.Particles {
			found[p.Text] += z * p.Weight
		}
	}
	mean := evidence / float64(runs)
	if deviation := math.Sqrt((squares/float64(runs) - mean*mean) / float64(runs)); math.Abs(mean-want) > 4*deviation || deviation == 0 {
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
