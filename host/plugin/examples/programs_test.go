// SPDX-License-Identifier: MIT

package examples

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin/drive"
	"github.com/penstock/penstock/host/plugin/session"
	"github.com/penstock/penstock/tools/must"
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
	must.Do(t, json.Unmarshal(s.Calls[1].Outputs[0], &output))
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

// lowestGroup is the confidence of an answer by the formulas of the paper: the negative mean of the
// log-probabilities of the (here: all) most likely tokens, averaged over windows; of these the
// least.
func lowestGroup(f *session.File, tokens []session.Token, window int) float64 {
	var all []float64
	for n := range len(tokens) - 1 {
		sum, count := 0.0, 0.0
		for _, log := range f.Table.Row(len(f.Vocabulary.Pieces), tokens[:n+1]) {
			sum, count = sum-float64(log), count+1
		}
		all = append(all, sum/count)
	}
	mean := func(some []float64) (sum float64) {
		for _, c := range some {
			sum += c / float64(len(some))
		}
		return sum
	}
	if len(all) < window {
		return mean(all)
	}
	lowest := math.Inf(1)
	for n := range len(all) - window + 1 {
		lowest = min(lowest, mean(all[n:n+window]))
	}
	return lowest
}

// TestConsensus_Run_ConfidenceIsThePapers has the module draw answers with warm-up, and computes
// the confidence of each, the threshold and what was given up once more.
func TestConsensus_Run_ConfidenceIsThePapers(t *testing.T) {
	f := readSessions(t, filepath.Join(sources, "consensus", "cases", "sums.json"))
	p, s, random := newPlayer(t, "consensus", f), &f.Sessions[0], steadytest.Rand(t)
	tokens := map[string]session.Token{}
	for token, piece := range f.Vocabulary.Pieces {
		tokens[string(piece)] = session.Token(token)
	}
	stopped := 0
	runs := steadytest.InLongTest(300, 40)
	for n := 0; n < runs || stopped == 0 && n < 10*runs; n++ { // in most runs nothing is given up
		window, warmup := 1+random.IntN(3), 1+random.IntN(4)
		s.Request.Config = mustJSON(t, map[string]any{"n": 8, "answer": "(?s).+", "weight": "confidence", "window": window, "warmup": warmup, "keep": 100})
		s.Request.Seed, s.Request.MaxTokens, s.Calls = random.Uint64(), 6, []session.Call{{Call: session.CallOpen}, {Call: session.CallRun}}
		if _, err := p.Update(t.Context(), s); err != nil || len(s.Calls) != 2 || len(s.Calls[1].Outputs) != 1 {
			t.Fatalf("%+v, %v", s.Calls, err)
		}
		var got struct {
			Threshold float64
			Answers   []struct {
				Text, Answer, State string
				Tokens              int
				Confidence          float64
			}
			Votes map[string]float64
		}
		must.Do(t, json.Unmarshal(s.Calls[1].Outputs[0], &got))
		threshold, votes := math.Inf(1), map[string]float64{}
		for i, a := range got.Answers {
			branch := append([]session.Token(nil), s.Request.Prompt...)
			for rest := a.Text; rest != ""; { // no piece begins another
				for piece, token := range tokens {
					if piece != "" && len(rest) >= len(piece) && rest[:len(piece)] == piece {
						branch, rest = append(branch, token), rest[len(piece):]
						break
					}
				}
			}
			want := lowestGroup(f, branch, window)
			if len(branch) == 1 {
				want = 0
			}
			if math.Abs(a.Confidence-want) > 1e-4 {
				t.Errorf("windows of %d of %q: %v, want %v", window, a.Text, a.Confidence, want)
			}
			if i < warmup {
				threshold = min(threshold, want)
			}
			switch full := a.Tokens >= window; {
			case a.State == "stopped":
				stopped++
				if want >= threshold || !full {
					t.Errorf("%q is given up with %v, the threshold is %v", a.Text, want, threshold)
				}
			case a.State == "ended" && i >= warmup && full && want < threshold-1e-4:
				t.Errorf("%q is not given up with %v, the threshold is %v", a.Text, want, threshold)
			case a.State == "ended" && a.Answer != "" && want >= threshold-1e-9:
				votes[a.Answer] += want
			}
		}
		if math.Abs(got.Threshold-threshold) > 1e-4 {
			t.Errorf("the threshold is %v, want %v", got.Threshold, threshold)
		}
		for answer, weight := range votes {
			if math.Abs(got.Votes[answer]-weight) > 1e-3 {
				t.Errorf("%q has %v, want %v", answer, got.Votes[answer], weight)
			}
		}
	}
	if stopped == 0 {
		t.Error("nothing was given up")
	}
}

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
		must.Do(t, json.Unmarshal(s.Calls[1].Outputs[0], &got))
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
