// SPDX-License-Identifier: MIT

// Command consensus is a plugin that owns its request: it draws several answers, and gives the one
// that most of them agree on, or that the most confident do. Where the model loses confidence, an
// answer can be given up before its end.
package main

import (
	"math"
	"regexp"
	"slices"
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

// candidates are the most likely tokens whose log-probabilities tell how confident the model is.
const candidates = 20

// state is how far an answer has come.
type state string

// The states, as the client is told them.
const (
	running   state = "running"
	ended     state = "ended"
	stopped   state = "stopped"   // given up: the model had lost confidence
	cancelled state = "cancelled" // no longer needed: the vote was decided
)

// trace is an answer and how confident the model was (Fu et al., "Deep Think with Confidence",
// 2025). The confidence in a token is the negative mean of the log-probabilities of the most likely
// tokens at its place: a flat distribution has a low one. That of a group is the mean over a window
// of tokens, and that of an answer is its least confident group's.
type trace struct {
	tokens []penstock.Token
	logs   []float32
	window []float64 // confidence in the last tokens, at their number modulo its length
	sum    float64   // of the window
	lowest float64   // of all full windows
	answer string
	state
}

// grow draws a token after the trace's branch.
func (t *trace) grow(r *penstock.Run, b *penstock.Branch) {
	if len(t.tokens) >= r.MaxTokens() { // there is room for none
		t.state = ended
		return
	}
	_, logs := b.Best(candidates)
	mean := 0.0
	for _, log := range logs {
		mean += float64(log) / float64(len(logs))
	}
	token := b.Sample(nil)
	if r.Ends(token) || r.Err() != nil {
		t.state = ended
		return
	}
	b.AppendScored(token)
	t.add(token, b.Scores(b.Len() - 1)[0], -mean)
	if len(t.tokens) == r.MaxTokens() {
		t.state = ended
	}
}

func (t *trace) add(token penstock.Token, log float32, confidence float64) {
	at := &t.window[len(t.tokens)%len(t.window)]
	t.sum += confidence - *at
	*at = confidence
	if t.tokens, t.logs = append(t.tokens, token), append(t.logs, log); len(t.tokens) >= len(t.window) {
		t.lowest = min(t.lowest, t.sum/float64(len(t.window)))
	}
}

// confidence is that of the answer so far. Of one shorter than a window it is the mean.
func (t *trace) confidence() float64 {
	if len(t.tokens) < len(t.window) {
		return t.sum / float64(max(1, len(t.tokens)))
	}
	return t.lowest
}

// giveUp stops a trace with a full window below the threshold.
func (t *trace) giveUp(threshold float64) {
	if len(t.tokens) >= len(t.window) && t.lowest < threshold {
		t.state = stopped
	}
}

// lowestOf is the lowest confidence of those per cent of the traces that have the highest, at least
// one of them.
func lowestOf(traces []trace, percent int) float64 {
	all := make([]float64, len(traces))
	for i := range traces {
		all[i] = traces[i].confidence()
	}
	slices.Sort(all)
	return all[len(all)-max(1, len(all)*percent/100)]
}

// ballot counts votes.
type ballot struct {
	weights map[string]float64
	names   []string // in the order in which they first came
	equal   bool
	highest float64 // weight of a vote
	open    int     // answers that have not voted
}

// cast counts the vote of a trace that has come to its end. One below the threshold has none, nor
// has one that says nothing.
func (v *ballot) cast(t *trace, threshold float64) {
	v.open--
	if t.state != ended || t.answer == "" || t.confidence() < threshold {
		return
	}
	weight := t.confidence()
	if v.equal {
		weight = 1
	}
	if _, known := v.weights[t.answer]; !known {
		v.names = append(v.names, t.answer)
	}
	v.weights[t.answer] += weight
	v.highest = max(v.highest, weight)
}

// decided reports whether those that have not voted cannot change what leads, each with the highest
// weight that a vote had.
func (v *ballot) decided() bool {
	first, second := 0.0, 0.0
	for _, name := range v.names {
		first, second = max(first, v.weights[name]), max(second, min(first, v.weights[name]))
	}
	return first > second+float64(v.open)*v.highest
}

// best is the most confident trace among those whose answer leads. Without votes it is the most
// confident that came to its end with any text.
func (v *ballot) best(traces []trace) (best int) {
	rank := func(t *trace) (float64, float64) {
		if t.state != ended || len(t.tokens) == 0 {
			return -1, math.Inf(-1)
		}
		return v.weights[t.answer], t.confidence()
	}
	for i := range traces {
		weight, confidence := rank(&traces[i])
		if w, c := rank(&traces[best]); weight > w || weight == w && confidence > c {
			best = i
		}
	}
	return best
}

// told is what the client is told of the votes.
func (v *ballot) told() map[string]any {
	all := map[string]any{}
	for name, weight := range v.weights {
		all[name] = weight
	}
	return all
}
