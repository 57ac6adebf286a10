// SPDX-License-Identifier: MIT

// Command best-of is a plugin that owns its request: it draws several answers, and gives the
// likeliest.
package main

import (
	"math"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

var _ = penstock.Register[bestOf](penstock.Manifest{
	Name: "best-of", Version: "2.0.0", Summary: "the likeliest of several answers",
	Branches: 16, BranchesConfig: "n",
	ConfigSchema: `{"type": "object", "additionalProperties": false, "properties": {
		"n": {"type": "integer", "minimum": 1, "maximum": 16, "default": 4, "title": "Answers", "description": "answers that are drawn"}
	}}`,
})

func main() {}

type bestOf struct{}

// Run implements penstock.Runner.
func (bestOf) Run(r *penstock.Run) error {
	root := r.Prompt()
	start, n := root.Len(), r.Config().Get("n").Int()
	branches := r.Select([]*penstock.Branch{root}, make([]int, n)...)
	for _, b := range branches {
		b.RunScored(nil, r.MaxTokens())
	}
	if !r.Wait(0, branches...) {
		return r.Err()
	}
	best, means, list := 0, make([]float32, n), []any(nil)
	for i, b := range branches {
		text, scores := penstock.TextOf(b.Tokens(start)), b.Scores(start)
		for _, s := range scores {
			means[i] += s / float32(len(scores))
		}
		mean := any(means[i])
		if len(scores) == 0 { // no token tells how likely an empty answer is, so it wins over none
			mean, means[i] = nil, -math.MaxFloat32
		}
		if means[i] > means[best] {
			best = i
		}
		list = append(list, map[string]any{"text": text, "logprob": mean})
	}
	r.ShowScored(branches[best].Tokens(start), branches[best].Scores(start))
	return penstock.Output(map[string]any{"answers": list, "best": best})
}
