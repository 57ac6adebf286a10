// SPDX-License-Identifier: MIT

// Command consensus is a plugin that owns its request: it draws several answers, and gives the one
// that most of them agree on, or that the most confident do. Where the model loses confidence, an
// answer can be given up before its end.
package main

import (
	"math"
	"regexp"
	"strings"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

var _ = penstock.Register[consensus](penstock.Manifest{
	Name: "consensus", Version: "1.0.0", Summary: "the answer that most of several agree on (self-consistency), or the most confident of them (DeepConf)",
	Branches: 16, BranchesConfig: "n",
	ConfigSchema: `{"type": "object", "additionalProperties": false, "properties": {
		"n": {"type": "integer", "minimum": 1, "maximum": 16, "default": 4, "title": "Answers", "description": "answers that are drawn"},
		"answer": {"type": "string", "minLength": 1, "maxLength": 1000, "default": "-?[0-9]+(?:[.,][0-9]+)*", "title": "Answer", "description": "a regular expression; an answer votes for what its first group, or all of it, matches last: by default the last number"},
		"weight": {"enum": ["equal", "confidence"], "default": "equal", "title": "Weight", "description": "how much each vote weighs: the same, or as much as the lowest confidence of any window of the answer"},
		"window": {"type": "integer", "minimum": 1, "maximum": 4096, "default": 128, "title": "Window", "description": "tokens of a window, over which confidence is averaged"},
		"warmup": {"type": "integer", "minimum": 0, "maximum": 15, "default": 0, "title": "Warm-up", "description": "answers that are drawn first; the others are given up once their confidence falls below what these had; 0 gives up none"},
		"keep": {"type": "integer", "minimum": 1, "maximum": 100, "default": 90, "title": "Keep", "description": "percentage of the warm-up answers, the most confident, that vote and set the threshold"}
	}}`,
})

func main() {}

type consensus struct{ answer *regexp.Regexp }

// Open implements penstock.Opener.
func (p *consensus) Open(q *penstock.Request) (err error) {
	p.answer, err = regexp.Compile(q.Config.Get("answer").Text())
	return err
}

// Run implements penstock.Runner.
func (p *consensus) Run(r *penstock.Run) error {
	c, root := r.Config(), r.Prompt()
	n, start := c.Get("n").Int(), root.Len()
	traces, votes := make([]trace, n), ballot{weights: map[string]float64{}, equal: c.Get("weight").Text() == "equal", open: n}
	warmup, threshold, told := min(c.Get("warmup").Int(), n), math.Inf(-1), any(nil)
	for i := range traces {
		traces[i] = trace{window: make([]float64, c.Get("window").Int()), lowest: math.Inf(1), state: cancelled}
	}
	branches := []*penstock.Branch{root}
	if warmup > 0 {
		branches = p.draw(r, branches, start, traces[:warmup], func(*trace) bool { return true })
		threshold = lowestOf(traces[:warmup], c.Get("keep").Int())
		for i := range traces[:warmup] {
			votes.cast(&traces[i], threshold)
		}
		told = threshold
	}
	if !votes.decided() {
		p.draw(r, branches, start, traces[warmup:], func(t *trace) bool {
			if t.state == running {
				t.giveUp(threshold)
			}
			if t.state != running {
				votes.cast(t, threshold)
			}
			return !votes.decided()
		})
	}
	best, list := votes.best(traces), make([]any, n)
	for i, t := range traces {
		list[i] = map[string]any{"text": penstock.TextOf(t.tokens), "answer": t.answer, "confidence": t.confidence(), "tokens": len(t.tokens), "state": string(t.state)}
	}
	r.ShowScored(traces[best].tokens, traces[best].logs)
	return penstock.Output(map[string]any{"votes": votes.told(), "best": best, "threshold": told, "answers": list})
}

// draw draws answers, all at once, from what the branches have of the prompt. After each token it
// asks whether to go on. It returns the branches, for other answers.
func (p *consensus) draw(r *penstock.Run, branches []*penstock.Branch, start int, traces []trace, goOn func(*trace) bool) []*penstock.Branch {
	places := make([]int, len(traces))
	for i := range places {
		places[i] = min(i, len(branches)-1)
	}
	for _, b := range branches {
		b.Cut(start)
	}
	branches = r.Select(branches, places...)
	for i := range traces {
		traces[i].state = running
	}
	for {
		var waiting []*penstock.Branch
		for i := range traces {
			if traces[i].state == running {
				waiting = append(waiting, branches[i])
			}
		}
		if len(waiting) == 0 || !r.Wait(candidates, waiting...) {
			return branches
		}
		for i := range traces {
			t := &traces[i]
			if t.state != running {
				continue
			}
			if t.grow(r, branches[i]); t.state == ended {
				t.answer = p.extract(penstock.TextOf(t.tokens))
			}
			if !goOn(t) {
				for k := range traces {
					if traces[k].state == running {
						traces[k].state = cancelled
					}
				}
				return branches
			}
		}
	}
}

// extract is what an answer votes for; empty: nothing.
func (p *consensus) extract(text string) string {
	found := p.answer.FindAllStringSubmatch(text, -1)
	if len(found) == 0 {
		return ""
	}
	last := found[len(found)-1]
	return strings.TrimSpace(last[min(1, len(last)-1)])
}
