// SPDX-License-Identifier: MIT

package programs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/steadytest"
)

// beam is a continuation in the reference.
type beam struct {
	tokens []int32
	sum    float64
	score  float64
}

// reference is a beam search by the rules of Transformers, from full log-probabilities. It tells,
// too, the smallest difference that decided between two continuations.
func reference(o *oracle, prompt []int32, width, most int, penalty float64) (done []beam, closest float64) {
	live, closest := []beam{{}}, math.Inf(1)
	apart := func(a, b float64) { closest = min(closest, math.Abs(a-b)) }
	for n := 1; n <= most && len(live) > 0; n++ {
		var all []beam
		for _, b := range live {
			for token, log := range o.says(slices.Concat(prompt, b.tokens)) {
				sum := b.sum + log
				all = append(all, beam{append(slices.Clone(b.tokens), int32(token)), sum, sum / math.Pow(float64(n), penalty)})
			}
		}
		slices.SortStableFunc(all, func(a, b beam) int { return cmp.Compare(b.sum, a.sum) })
		live = nil
		for rank, b := range all {
			switch end := o.ends(b.tokens[n-1]); {
			case rank < width && (end || n == most):
				if end {
					b.tokens = b.tokens[:n-1]
				}
				done = append(done, b)
			case !end && len(live) < width && n < most:
				live = append(live, b)
			}
			if rank > 0 && rank <= 2*width {
				apart(b.sum, all[rank-1].sum)
			}
			if len(live) == width || rank > 40*width {
				break
			}
		}
		slices.SortStableFunc(done, func(a, b beam) int { return cmp.Compare(b.score, a.score) })
		for i := range done[:max(1, len(done))-1] {
			apart(done[i].score, done[i+1].score)
		}
		if done = done[:min(width, len(done))]; len(done) == width && len(live) > 0 {
			apart(done[width-1].score, live[0].score)
			if done[width-1].score >= live[0].score {
				break
			}
		}
	}
	return done, closest
}

// The plugin beam finds what a reference finds, on three architectures. Where two continuations
// were so close that rounding may decide between them, what it finds is as good. And it does use
// its width: what it finds is not what greedy decoding finds.
func TestBeam_EqualsAReference(t *testing.T) {
	const most = 16
	for name, path := range map[string]string{"attention": builtInModel, "recurrent": hosts.SmallModel(t, "mamba"), "sliding window": hosts.SmallModel(t, "cohere2")} {
		t.Run(name, func(t *testing.T) {
			o := newOracle(t, path)
			change := map[string]any{"model.kv_layout": "split"}
			if path != builtInModel {
				change["model.path"] = path
			}
			h := hosts.OpenWithPlugins(t, change, map[string][]byte{"beam.wasm": hosts.Example(t, "beam")})
			exact, wide := 0, 0
			some := openings
			if path != builtInModel { // of which the reference computes all tokens each time
				some = openings[:steadytest.InLongTest(len(openings), 4)]
			}
			for i, opening := range some {
				prompt, width, penalty := o.tokens(opening), 2+i%3, []float64{1, 0, 2}[i%3]
				want, closest := reference(o, prompt, width, most, penalty)
				w := writes(t, h, map[string]any{"prompt": prompt, "n_predict": most}, "beam", map[string]any{"width": width, "length_penalty": penalty})
				var got struct {
					Beams []struct {
						Tokens []int32
						Score  float64
					}
				}
				w.output(t, &got)
				same := slices.Equal(w.Tokens, want[0].tokens) && len(got.Beams) == len(want)
				for k, b := range got.Beams {
					same = same && math.Abs(b.Score-want[k].score) < rounding && (closest < rounding || slices.Equal(b.Tokens, want[k].tokens))
				}
				switch {
				case same && closest >= rounding/10:
					exact++
				case closest >= rounding:
					t.Errorf("%q, width %d: it writes %v and %+v, the reference %v (closest: %v)", opening, width, w.Tokens, got, want, closest)
				case got.Beams[0].Score < want[0].score-rounding:
					t.Errorf("%q, width %d: it writes what has the score %v, the reference has one with %v", opening, width, got.Beams[0].Score, want[0].score)
				}
				if greedy, _ := o.greedy(prompt, most); !slices.Equal(greedy, want[0].tokens) {
					wide++
				}
			}
			t.Logf("of %d answers %d were compared exactly, and %d are not the greedy ones", len(some), exact, wide)
			if exact < len(some)/2 || wide == 0 {
				t.Errorf("of %d answers %d were compared exactly, and %d are not the greedy ones: too little was tested", len(some), exact, wide)
			}
		})
	}
}

// A request with n gets the n best as its choices, whole and in order.
func TestBeam_GivesTheBestAsChoices(t *testing.T) {
	o, h := newOracle(t, builtInModel), hosts.SharedWithExamples(t, "beam")
	prompt := o.tokens("One day Ivy wanted")
	want, _ := reference(o, prompt, 4, 12, 1)
	body := fmt.Sprintf(`{"prompt":%s,"max_tokens":12,"n":3,"plugins":[{"name":"beam","config":{"width":4}}]}`, strings.ReplaceAll(fmt.Sprint(prompt), " ", ","))
	status, text := hosts.Post(t, h.URL()+"/v1/completions", body)
	var got struct{ Choices []struct{ Text string } }
	if err := json.Unmarshal([]byte(text), &got); err != nil || status != 200 || len(got.Choices) != 3 {
		t.Fatalf("%d %s: %v", status, text, err)
	}
	seen := map[string]bool{}
	for i, c := range got.Choices {
		if best := o.text(want[i].tokens); c.Text != best && math.Abs(want[i].score-want[min(i+1, 3)].score) > rounding/10 && (i == 0 || math.Abs(want[i].score-want[i-1].score) > rounding/10) {
			t.Errorf("choice %d is %q, the reference has %q", i, c.Text, best)
		}
		seen[c.Text] = true
	}
	if len(seen) != 3 {
		t.Errorf("the choices are %v", got.Choices)
	}
}
