// SPDX-License-Identifier: MIT

// Command beam is a plugin that owns its request: it writes the answer of a beam search, by the
// rules of Transformers.
package main

import (
	"math"
	"slices"
	"sort"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

var _ = penstock.Register[beam](penstock.Manifest{
	Name: "beam", Version: "1.0.0", Summary: "beam search: the most likely answer that several continuations at once find",
	Branches: 16, BranchesConfig: "width",
	ConfigSchema: `{"type": "object", "additionalProperties": false, "properties": {
		"width": {"type": "integer", "minimum": 1, "maximum": 16, "default": 4, "description": "continuations kept at each step"},
		"length_penalty": {"type": "number", "minimum": -5, "maximum": 5, "default": 1, "description": "sums of log-probabilities are divided by the length to this power"}}}`,
})

func main() {}

type beam struct{}

// hypothesis is a continuation of the prompt.
type hypothesis struct {
	from   int // branch, of which it is one token ahead
	tokens []penstock.Token
	sum    float64 // of log-probabilities; of one that has ended, by its length
}

// Run implements penstock.Runner.
func (beam) Run(r *penstock.Run) error {
	width, penalty := r.Config().Get("width").Int(), r.Config().Get("length_penalty").Float()
	k, list := width+16, []any(nil) // of k tokens 16 may be end tokens
	branches, live, done := []*penstock.Branch{r.Prompt()}, make([]hypothesis, 1), []hypothesis(nil)
	for n := 1; r.Wait(k, branches...); n++ {
		var all, next []hypothesis
		for i, b := range branches {
			ids, logs := b.Best(k)
			for j, t := range ids {
				all = append(all, hypothesis{i, append(slices.Clip(live[i].tokens), t), live[i].sum + float64(logs[j])})
			}
		}
		parents, norm := []int(nil), math.Pow(float64(n), penalty)
		for rank, h := range best(all, len(all)) {
			end, last := r.Ends(h.tokens[n-1]), n >= r.MaxTokens()
			if end {
				h.tokens = h.tokens[:n-1]
			}
			if rank < width && (end || last) {
				done = best(append(done, hypothesis{0, h.tokens, h.sum / norm}), width)
			} else if len(next) < width && !end && !last {
				next, parents = append(next, h), append(parents, h.from)
			}
		}
		if len(next) == 0 || len(done) == width && done[width-1].sum >= next[0].sum/norm {
			break
		}
		branches, live = r.Select(branches, parents...), next
		for i, h := range live {
			branches[i].Append(h.tokens[n-1])
		}
	}
	for i, h := range done {
		list = append(list, map[string]any{"text": penstock.TextOf(h.tokens), "tokens": h.tokens, "score": h.sum})
		if i < r.Choices() {
			r.ShowChoice(i, h.tokens, nil)
		}
	}
	return penstock.Output(map[string]any{"beams": list})
}

// best are the n best hypotheses, best first.
func best(all []hypothesis, n int) []hypothesis {
	sort.SliceStable(all, func(i, j int) bool { return all[i].sum > all[j].sum })
	return all[:min(n, len(all))]
}
