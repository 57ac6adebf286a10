// SPDX-License-Identifier: MIT

package examples

import (
	"cmp"
	"encoding/json"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin/drive"
	"github.com/penstock/penstock/host/plugin/session"
	"github.com/penstock/penstock/tools/steadytest"
)

// found is one of the answers that the plugin beam tells.
type found struct {
	Text  string
	Score float64
}

// beams has beam search a model that has drawn how likely each letter and the end is after each
// text of up to most letters, so that no two texts are equally likely.
func beams(t *testing.T, p *session.Player, s *session.Session, random *rand.Rand, config map[string]any, letters, most int) (got []found) {
	t.Helper()
	s.Model = nil
	texts := [][]session.Token{s.Request.Prompt}
	for i := 0; i < len(texts); i++ {
		row, sum := make([]float64, 5), 0.0
		for t := range letters + 1 {
			row[t] = random.ExpFloat64() + 1e-3
			sum += row[t]
		}
		for t := range row {
			if row[t] /= sum; t > 0 && row[t] > 0 && len(texts[i]) < most {
				texts = append(texts, append(slices.Clone(texts[i]), session.Token(t)))
			}
		}
		s.Model = append(s.Model, drive.Entry{After: texts[i], Probabilities: row})
	}
	s.Request.Config, s.Request.MaxTokens = mustJSON(t, config), most
	s.Calls = []session.Call{{Call: session.CallOpen}, {Call: session.CallRun}}
	var output struct{ Beams []found }
	if _, err := p.Update(t.Context(), s); err != nil || len(s.Calls) != 2 || len(s.Calls[1].Outputs) != 1 {
		t.Fatalf("%v: %+v, %v", config, s.Calls, err)
	}
	if err := json.Unmarshal(s.Calls[1].Outputs[0], &output); err != nil {
		t.Fatal(err)
	}
	return output.Beams
}

// same reports whether two lists of answers are the same, but for the last digits.
func same(a, b []found) bool {
	return slices.EqualFunc(a, b, func(a, b found) bool { return a.Text == b.Text && math.Abs(a.Score-b.Score) < 1e-4 })
}

// sortFound puts the best first.
func sortFound(all []found) {
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(b.Score, a.Score) })
}

// inGroups is diverse beam search as Vijayakumar et al. define it, with Transformers' rules for the
// end of an answer, over whole rows.
func inGroups(f *session.File, s *session.Session, size, groups int, diversity float64) (all []found) {
	type path struct {
		tokens []session.Token
		sum    float64
	}
	live, done := make([][]path, groups), make([][]found, groups)
	for g := range live {
		live[g] = []path{{}}
	}
	text := func(tokens []session.Token) (text string) {
		for _, t := range tokens {
			text += string(f.Vocabulary.Pieces[t])
		}
		return text
	}
	for n := 1; n <= s.Request.MaxTokens; n++ {
		var taken []session.Token
		for g := range live {
			var next []path
			for _, h := range live[g] {
				for t, log := range s.Model.Row(len(f.Vocabulary.Pieces), append(slices.Clone(s.Request.Prompt), h.tokens...)) {
					sum := h.sum + float64(log)
					for _, other := range taken {
						if other == session.Token(t) {
							sum -= diversity
						}
					}
					next = append(next, path{append(slices.Clone(h.tokens), session.Token(t)), sum})
				}
			}
			slices.SortStableFunc(next, func(a, b path) int { return cmp.Compare(b.sum, a.sum) })
			live[g] = nil
			for rank, h := range next {
				switch end := h.tokens[n-1] == 0; {
				case (end || n == s.Request.MaxTokens) && rank < size:
					done[g] = append(done[g], found{text(h.tokens), h.sum / float64(n)})
				case !end && n < s.Request.MaxTokens && len(live[g]) < size:
					live[g] = append(live[g], h)
				}
			}
			sortFound(done[g])
			if done[g] = done[g][:min(size, len(done[g]))]; len(done[g]) == size && len(live[g]) > 0 && done[g][size-1].Score >= live[g][0].sum/float64(n) {
				live[g] = nil
			}
			for _, h := range live[g] {
				taken = append(taken, h.tokens[n-1])
			}
		}
	}
	all = slices.Concat(done...)
	sortFound(all)
	return all
}

func TestBeam_Run_GroupsAreDiverseAsDefined(t *testing.T) {
	f := readSessions(t, filepath.Join(sources, "beam", "cases", "garden.json"))
	p, s, random, apart := newPlayer(t, "beam", f), &f.Sessions[0], steadytest.Rand(t), 0
	for range steadytest.InLongTest(300, 30) {
		size, groups, diversity := 1+random.IntN(3), 1+random.IntN(4), 2*random.Float64()
		config := map[string]any{"width": size * groups, "groups": groups, "diversity": diversity}
		got := beams(t, p, s, random, config, 3, 4)
		if want := inGroups(f, s, size, groups, diversity); !same(got, want) {
			t.Errorf("%v: %v, want %v", config, got, want)
		}
		if !same(got, inGroups(f, s, size, groups, 0)) {
			apart++
		}
	}
	if apart == 0 {
		t.Error("nothing depended on the diversity")
	}
}

// withPhrases are all answers of a and b that have some phrases, as likely as the model says.
func withPhrases(s *session.Session, phrases []string, text string, tokens []session.Token, sum float64) (all []found) {
	whole := !slices.ContainsFunc(phrases, func(phrase string) bool { return !strings.Contains(text, phrase) })
	if len(text) == s.Request.MaxTokens {
		if whole {
			all = []found{{text, sum}}
		}
		return all
	}
	row := s.Model.Row(5, tokens)
	if whole {
		all = []found{{text, sum + float64(row[0])}}
	}
	for t, piece := range map[session.Token]string{1: "a", 2: "b"} {
		all = append(all, withPhrases(s, phrases, text+piece, append(slices.Clone(tokens), t), sum+float64(row[t]))...)
	}
	return all
}

// TestBeam_Run_PhrasesInTheBestAnswerOfAll has a model with two letters, of which a search of the
// greatest width misses no text: what it finds is the best of all with the phrases. A narrow
// search has them as well.
func TestBeam_Run_PhrasesInTheBestAnswerOfAll(t *testing.T) {
	f := readSessions(t, filepath.Join(sources, "beam", "cases", "garden.json"))
	p, s, random, unlikely := newPlayer(t, "beam", f), &f.Sessions[0], steadytest.Rand(t), 0
	for i := range steadytest.InLongTest(300, 30) {
		phrases := [][]string{{"ab"}, {"bb", "a"}, {"aba"}, {"ab", "ba"}, {"aab", "b"}, {"bbaab"}}[i%6]
		got := beams(t, p, s, random, map[string]any{"width": 16, "length_penalty": 0, "phrases": phrases}, 2, 5)
		want := withPhrases(s, phrases, "", s.Request.Prompt, 0)
		sortFound(want)
		if len(got) == 0 || !same(got[:1], want[:1]) {
			t.Errorf("with %q: %v, want %v", phrases, got, want[0])
		}
		all := withPhrases(s, nil, "", s.Request.Prompt, 0)
		sortFound(all)
		if all[0].Text != want[0].Text {
			unlikely++
		}
		for width := 1; width <= 4; width++ {
			for _, answer := range beams(t, p, s, random, map[string]any{"width": width, "phrases": phrases}, 2, 5) {
				if slices.ContainsFunc(phrases, func(phrase string) bool { return !strings.Contains(answer.Text, phrase) }) {
					t.Errorf("with a width of %d, %q lacks one of %q", width, answer.Text, phrases)
				}
			}
		}
	}
	if unlikely == 0 {
		t.Error("no answer had to be made to have its phrases")
	}
}
