// SPDX-License-Identifier: MIT

// Command lookahead is a plugin that owns its request: where the model is unsure, it looks where
// several continuations lead.
package main

import "github.com/penstock/penstock/plugins/sdk/go/penstock"

var _ = penstock.Register[lookahead](penstock.Manifest{
	Name: "lookahead", Version: "1.0.0", Summary: "grows several continuations where the model is unsure, and goes on with the likeliest",
	Branches: 16, BranchesConfig: "width",
	ConfigSchema: `{"type": "object", "additionalProperties": false, "properties": {
		"width": {"type": "integer", "minimum": 2, "maximum": 16, "default": 4, "description": "continuations that are grown"},
		"tokens": {"type": "integer", "minimum": 2, "maximum": 256, "default": 12, "description": "how long they are"},
		"entropy": {"type": "number", "minimum": 0, "maximum": 20, "default": 0.7, "description": "from so many nats on the model counts as unsure"}
	}}`,
})

func main() {}

type lookahead struct{}

// Run implements penstock.Runner.
func (lookahead) Run(r *penstock.Run) error {
	width, tokens, entropy := r.Config().Get("width").Int(), r.Config().Get("tokens").Int(), float32(r.Config().Get("entropy").Float())
	b, greedy, looks := r.Prompt(), r.Chain(`{"temperature": 0}`), 0
	start := b.Len()
	for ended := false; !ended && b.Len()-start < r.MaxTokens() && r.Wait(width, b); {
		from, k := b.Len(), 1
		if b.Entropy() >= entropy {
			k, looks = width, looks+1
		}
		first, _ := b.Best(k)
		growing, branches := []*penstock.Branch(nil), r.Select([]*penstock.Branch{b}, make([]int, len(first))...)
		for i, t := range append([]penstock.Token(nil), first...) {
			branches[i].AppendScored(t)
			if k > 1 && !r.Ends(t) {
				branches[i].RunScored(greedy, tokens-1)
				growing = append(growing, branches[i])
			}
		}
		if k > 1 && !r.Wait(0, growing...) {
			break
		}
		best := 0
		for i := range branches {
			if mean(branches[i].Scores(from)) > mean(branches[best].Scores(from)) {
				best = i
			}
		}
		b = r.Select(branches, best)[0]
		said := b.Tokens(from)
		if ended = b.State() == penstock.Ended; r.Ends(said[len(said)-1]) {
			said, ended = said[:len(said)-1], true
		}
		r.Show(said...)
	}
	return penstock.Output(map[string]any{"looks": looks})
}

func mean(scores []float32) (sum float32) {
	for _, s := range scores {
		sum += s / float32(len(scores))
	}
	return sum
}
