// SPDX-License-Identifier: MIT

// Command beam is a plugin that owns its request: it writes the answer of a beam search, by the rules of Transformers.
package main

import (
	"math"
	"sort"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

var _ = penstock.Register[beam](penstock.Manifest{
	Name: "beam", Version: "1.0.0", Summary: "beam search: the most likely answer that several continuations at once find",
	Branches: 16, BranchesConfig: "width",
	ConfigSchema: `{"type": "object", "additionalProperties": false, "properties": {
		"width": {"type": "integer", "minimum": 1, "maximum": 16, "default": 4, "description": "continuations kept at each step"},
		"length_penalty": {"type": "number", "minimum": -5, "maximum": 5, "default": 1, "description": "sums of log-probabilities are divided by the length to this power"}
	}}`,
})

func main() {}

type beam struct {
	width   int
	penalty float64
}

// hypothesis is a continuation: a branch and one token more while it may grow, and all its tokens once it has ended.
type hypothesis struct {
	from   int
	tokens []penstock.Token
	score  float64 // the sum of log-probabilities; of one that has ended, by its length
}

// Open implements penstock.Opener.
func (p *beam) Open(q *penstock.Request) error {
	p.width, p.penalty = q.Config.Get("width").Int(), q.Config.Get("length_penalty").Float()
	return nil
}

const ends = 16 // so many of a model's end tokens may be likelier than what goes on

// Run implements penstock.Runner.
func (p *beam) Run(r *penstock.Run) error {
	branches, live, done := []*penstock.Branch{r.Prompt()}, make([]hypothesis, 1), []hypothesis(nil)
	start := branches[0].Len()
	for n := 1; len(live) > 0 && r.Wait(p.width+ends, branches...); n++ {
		var all, next []hypothesis
		for i, b := range branches {
			ids, logs := b.Best(p.width + ends)
			for k, t := range ids {
				all = append(all, hypothesis{i, []penstock.Token{t}, live[i].score + float64(logs[k])})
			}
		}
		for rank, h := range best(all, len(all)) {
			end, last := r.Ends(h.tokens[0]), n >= r.MaxTokens()
			if rank < p.width && (end || last) {
				tokens := branches[h.from].Tokens(start)
				if !end {
					tokens = append(tokens, h.tokens[0])
				}
				done = best(append(done, hypothesis{0, tokens, h.score / math.Pow(float64(n), p.penalty)}), p.width)
			} else if !end && !last && len(next) < p.width {
				next = append(next, h)
			}
		}
		if live = next; len(live) == 0 || len(done) == p.width && done[p.width-1].score >= live[0].score/math.Pow(float64(n), p.penalty) {
			break
		}
		parents := make([]int, len(live))
		for i, h := range live {
			parents[i] = h.from
		}
		branches = r.Select(branches, parents...)
		for i, h := range live {
			branches[i].Append(h.tokens...)
		}
	}
	list := []any(nil)
	for _, h := range done {
		list = append(list, map[string]any{"text": penstock.TextOf(h.tokens), "tokens": h.tokens, "score": h.score})
	}
	if r.Err() != nil || len(done) == 0 {
		return r.Err()
	}
	r.Show(done[0].tokens...)
	return penstock.Output(map[string]any{"beams": list})
}

// best are the n best hypotheses, best first.
func best(all []hypothesis, n int) []hypothesis {
	sort.SliceStable(all, func(i, j int) bool { return all[i].score > all[j].score })
	return all[:min(n, len(all))]
}
