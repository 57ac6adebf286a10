// SPDX-License-Identifier: MIT

// Command beam is a plugin that owns its request: it writes the answer of a beam search, by the rules of Transformers.
package main

import (
	"math"
	"sort"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

var _ = penstock.Register[beam](penstock.Manifest{
	Name:           "beam",
	Version:        "1.0.0",
	Summary:        "beam search: the most likely answer that is found with several continuations at once",
	Branches:       4,
	BranchesConfig: "width",
	ConfigSchema: `{
		"type": "object",
		"additionalProperties": false,
		"properties": {
			"width": {"type": "integer", "minimum": 1, "maximum": 4, "default": 4, "description": "continuations kept at each step"},
			"length_penalty": {"type": "number", "minimum": -5, "maximum": 5, "default": 1, "description": "sums of log-probabilities are divided by the length to this power"}
		}
	}`,
})

func main() {}

type beam struct {
	width   int
	penalty float64
}

// hypothesis is a continuation that may still grow, and ended is one that does not.
type (
	hypothesis struct {
		branch *penstock.Branch
		sum    float64
	}
	ended struct {
		tokens []penstock.Token
		score  float64
	}
	move struct {
		from  int // hypothesis
		token penstock.Token
		sum   float64
	}
)

// Open implements penstock.Opener.
func (p *beam) Open(q *penstock.Request) error {
	p.width, p.penalty = q.Config.Get("width").Int(), q.Config.Get("length_penalty").Float()
	return nil
}

// Run implements penstock.Runner.
func (p *beam) Run(r *penstock.Run) error {
	root := r.Prompt()
	start, k := root.Len(), 2*p.width
	live, done, n := []hypothesis{{root, 0}}, []ended(nil), 1
	for ; n <= r.MaxTokens() && r.Wait(k, branches(live)...); n++ {
		moves := p.moves(live, k)
		next := moves[:0:0]
		for rank, m := range moves {
			switch end := r.Ends(m.token); {
			case end && rank < p.width:
				done = p.best(append(done, ended{live[m.from].branch.Tokens(start), p.score(m.sum, n)}))
			case !end && len(next) < p.width:
				next = append(next, m)
			}
		}
		if len(next) == 0 || len(done) == p.width && done[p.width-1].score >= p.score(next[0].sum, n) {
			live = nil
			break
		}
		live = grow(live, next)
	}
	for _, h := range live {
		done = append(done, ended{h.branch.Tokens(start), p.score(h.sum, n-1)})
	}
	if done = p.best(done); len(done) > 0 {
		r.Show(done[0].tokens...)
	}
	return r.Err()
}

// moves are the k best next steps of all hypotheses together.
func (p *beam) moves(live []hypothesis, k int) []move {
	var all []move
	for i, h := range live {
		ids, logs := h.branch.Best(k)
		for j, t := range ids {
			all = append(all, move{i, t, h.sum + float64(logs[j])})
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].sum > all[j].sum })
	return all[:min(k, len(all))]
}

// grow closes what no move goes on from, before the others are forked: a fork takes its place.
func grow(live []hypothesis, next []move) (grown []hypothesis) {
	left := make([]int, len(live))
	for _, m := range next {
		left[m.from]++
	}
	for i, h := range live {
		if left[i] == 0 {
			h.branch.Close()
		}
	}
	for _, m := range next {
		b := live[m.from].branch
		if left[m.from]--; left[m.from] > 0 {
			b = b.Fork()
		}
		grown = append(grown, hypothesis{b, m.sum})
	}
	for i, m := range next { // now that all are forked
		grown[i].branch.Append(m.token)
	}
	return grown
}

// best are the best of what has ended, best first.
func (p *beam) best(done []ended) []ended {
	sort.SliceStable(done, func(i, j int) bool { return done[i].score > done[j].score })
	return done[:min(p.width, len(done))]
}

// score makes sums of continuations of different lengths comparable.
func (p *beam) score(sum float64, length int) float64 {
	return sum / math.Pow(float64(length), p.penalty)
}

func branches(live []hypothesis) (all []*penstock.Branch) {
	for _, h := range live {
		all = append(all, h.branch)
	}
	return all
}
