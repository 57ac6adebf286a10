// SPDX-License-Identifier: MIT

package examples

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin/session"
	"github.com/penstock/penstock/tools/steadytest"
)

// enumerate finds how likely each text is that has no e and no end of the prompt in it, as the
// model of a file says by itself. Closed: they also end with a c, and before the last token.
func enumerate(f *session.File, tokens []session.Token, most int, text string, likely float64, closed bool, all map[string]float64) {
	for t, l := range f.Table.Row(len(f.Vocabulary.Pieces), tokens) {
		p, piece := likely*math.Exp(float64(l)), string(f.Vocabulary.Pieces[t])
		switch {
		case t == 0 && (!closed || strings.HasSuffix(text, "c")):
			all[text] += p
		case t == 0 || closed && most == 1:
		case piece == "e" || piece == "go":
		case most == 1:
			all[text+piece] += p
		default:
			enumerate(f, append(tokens[:len(tokens):len(tokens)], session.Token(t)), most-1, text+piece, p, closed, all)
		}
	}
}

// TestSMC_Run_IsThePosterior has the module of smc write many answers, with the model of its cases.
// The weighted particles of all are the exact posterior, and their evidence is how likely the model
// is to keep the rule by itself. The same seeds draw the same.
func TestSMC_Run_IsThePosterior(t *testing.T) {
	f := readSessions(t, filepath.Join(sources, "smc", "cases", "letters.json"))
	p := newPlayer(t, "smc", f)
	for name, closed := range map[string]bool{`{"without":"eg","particles":8}`: false, `{"grammar":"root ::= [abc]* \"c\"","particles":16}`: true} {
		t.Run(name, func(t *testing.T) {
			f.Sessions[0].Request.Config = json.RawMessage(name)
			isPosterior(t, p, f, closed)
		})
	}
}

func isPosterior(t *testing.T, p *session.Player, f *session.File, closed bool) {
	runs := steadytest.InLongTest(500, 300)
	s, exact, want := &f.Sessions[0], map[string]float64{}, 0.0
	enumerate(f, s.Request.Prompt, s.Request.MaxTokens, "", 1, closed, exact)
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
		if last := len(s.Calls[1].Shown[0]); closed && last == s.Request.MaxTokens {
			z = 0 // no particle was closed in time, so an open one was shown
		}
		evidence, squares = evidence+z, squares+z*z
		for _, p := range got.Particles {
			if p.Weight > 0 && z > 0 {
				found[p.Text] += z * p.Weight
			}
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

// bitTexts are the texts of the grammar of grammar-aligned's cases, and how likely the model of the
// file writes each, with the end.
func bitTexts(f *session.File) (likely, masked map[string]float64) {
	likely, masked = map[string]float64{}, map[string]float64{}
	texts := []string{"00000"}
	for i := range 16 {
		texts = append(texts, fmt.Sprintf("1%04b", i))
	}
	for _, text := range texts {
		p, q, tokens := 1.0, 1.0, f.Sessions[0].Request.Prompt
		for i := range len(text) + 1 {
			row, allowed, next := f.Table.Row(len(f.Vocabulary.Pieces), tokens), 0.0, session.Token(0)
			for t := range session.Token(3) {
				if fits := string(f.Vocabulary.Pieces[t]); slices.ContainsFunc(texts, func(other string) bool {
					return t == 0 && other == text[:i] || t > 0 && strings.HasPrefix(other, text[:i]+fits)
				}) {
					allowed += math.Exp(float64(row[t]))
				}
			}
			if i < len(text) {
				next = session.Token(text[i]-'0') + 1
			}
			p, q = p*math.Exp(float64(row[next])), q*math.Exp(float64(row[next]))/allowed
			tokens = append(tokens[:len(tokens):len(tokens)], next)
		}
		likely[text], masked[text] = p, q
	}
	return likely, masked
}

// distance is the total variation distance of a distribution and one whose sum need not be 1.
func distance(a, b map[string]float64, sum float64) (d float64) {
	for text := range b {
		d += math.Abs(a[text]-b[text]/sum) / 2
	}
	return d
}

// TestGrammarAligned_Run_IsTheConditional has the module of grammar-aligned draw many texts, with
// the model of its cases. The later ones are drawn as often as the model writes them, given that
// it writes one of the grammar. What a mask alone draws, which is computed here, is far from that.
func TestGrammarAligned_Run_IsTheConditional(t *testing.T) {
	seeds := steadytest.InLongTest(60, 12)
	f := readSessions(t, filepath.Join(sources, "grammar-aligned", "cases", "bits.json"))
	p, s := newPlayer(t, "grammar-aligned", f), &f.Sessions[0]
	likely, masked := bitTexts(f)
	all := 0.0
	for _, p := range likely {
		all += p
	}
	if d := distance(masked, likely, all); d < 0.8 {
		t.Errorf("a mask alone is only %v from the conditional distribution, so nothing is tested", d)
	}
	found, drawn := map[string]float64{}, 0.0
	s.Request.Config, s.Request.Choices = json.RawMessage(strings.Replace(string(s.Request.Config), "40", "140", 1)), 100
	for seed := range seeds {
		s.Request.Seed, s.Calls = uint64(seed), []session.Call{{Call: session.CallOpen}, {Call: session.CallRun}}
		if _, err := p.Update(t.Context(), s); err != nil || len(s.Calls[1].Outputs) != 1 {
			t.Fatalf("seed %d: %+v, %v", seed, s.Calls[1], err)
		}
		var got struct {
			Samples, Complete int
			Grammatical       float64
		}
		if err := json.Unmarshal(s.Calls[1].Outputs[0], &got); err != nil || got.Samples != 140 || got.Complete != 140 {
			t.Fatalf("seed %d: %s, %v, want 140 complete samples", seed, s.Calls[1].Outputs[0], err)
		}
		if got.Grammatical < all-1e-6 || got.Grammatical > 1.1*all {
			t.Errorf("seed %d: the grammar is kept with a probability of %v, exactly it is %v", seed, got.Grammatical, all)
		}
		for _, tokens := range s.Calls[1].Shown {
			text := ""
			for _, t := range tokens {
				text += string(f.Vocabulary.Pieces[t])
			}
			if likely[text] == 0 {
				t.Fatalf("seed %d: %q is not in the grammar", seed, text)
			}
			found[text]++
			drawn++
		}
	}
	for text := range found {
		found[text] /= drawn
	}
	t.Logf("after %v draws the distance is %.4f, and with a mask alone %.4f", drawn, distance(found, likely, all), distance(masked, likely, all))
	if d := distance(found, likely, all); d > 0.07 {
		t.Errorf("what was drawn is %v from the conditional distribution", d)
	}
}
