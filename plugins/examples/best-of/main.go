// SPDX-License-Identifier: MIT

// Command best-of is a plugin that owns its request: it draws several answers, and gives the
// likeliest, or what most of them agree on.
package main

import (
	"math"
	"regexp"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

var _ = penstock.Register[bestOf](penstock.Manifest{
	Name: "best-of", Version: "1.0.0", Summary: "the likeliest of several answers, or the one that most of them agree on (self-consistency)",
	Branches: 16, BranchesConfig: "n",
	ConfigSchema: `{"type": "object", "additionalProperties": false, "properties": {
		"n": {"type": "integer", "minimum": 1, "maximum": 16, "default": 4, "description": "answers that are drawn"},
		"vote": {"type": "string", "maxLength": 1000, "default": "", "description": "a regular expression; the answers vote for what its first group, or all of it, matches last"}
	}}`,
})

func main() {}

type bestOf struct{ vote *regexp.Regexp }

// Open implements penstock.Opener.
func (p *bestOf) Open(q *penstock.Request) (err error) {
	if vote := q.Config.Get("vote").Text(); vote != "" {
		p.vote, err = regexp.Compile(vote)
	}
	return err
}

// Run implements penstock.Runner.
func (p *bestOf) Run(r *penstock.Run) error {
	root := r.Prompt()
	start, n := root.Len(), r.Config().Get("n").Int()
	branches := r.Select([]*penstock.Branch{root}, make([]int, n)...)
	for _, b := range branches {
		b.RunScored(nil, r.MaxTokens())
	}
	if !r.Wait(0, branches...) {
		return r.Err()
	}
	best, means, said, votes, list := 0, make([]float32, n), make([]string, n), map[string]int{}, []any(nil)
	for i, b := range branches {
		text, scores := penstock.TextOf(b.Tokens(start)), b.Scores(start)
		for _, s := range scores {
			means[i] += s / float32(len(scores))
		}
		mean := any(means[i])
		if len(scores) == 0 { // no token tells how likely an empty answer is, so it wins over none
			mean, means[i] = nil, -math.MaxFloat32
		}
		if p.vote != nil {
			said[i] = p.extract(text)
		}
		votes[said[i]]++
		list = append(list, map[string]any{"text": text, "logprob": mean, "vote": said[i]})
	}
	delete(votes, "") // who says nothing has no vote
	for i := range branches {
		if a, b := votes[said[i]], votes[said[best]]; a > b || a == b && means[i] > means[best] {
			best = i
		}
	}
	r.ShowScored(branches[best].Tokens(start), branches[best].Scores(start))
	return penstock.Output(map[string]any{"answers": list, "best": best})
}

// extract is what an answer votes for; empty: nothing.
func (p *bestOf) extract(text string) string {
	found := p.vote.FindAllStringSubmatch(text, -1)
	if len(found) == 0 {
		return ""
	}
	last := found[len(found)-1]
	return last[min(1, len(last)-1)]
}
