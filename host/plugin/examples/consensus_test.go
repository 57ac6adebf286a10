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
		if err := json.Unmarshal(s.Calls[1].Outputs[0], &got); err != nil {
			t.Fatal(err)
		}
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
