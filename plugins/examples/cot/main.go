// SPDX-License-Identifier: MIT

// Command cot is a plugin that owns its request: it continues several beginnings greedily, and
// gives the text whose answer the model is surest of. Among the beginnings there are often those of
// a chain of thought, which nobody had to ask for.
package main

import (
	"math"
	"regexp"
	"strings"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

var _ = penstock.Register[cot](penstock.Manifest{
	Name: "cot", Version: "1.0.0", Summary: "chain-of-thought decoding: of several greedy continuations the one whose answer the model is surest of",
	Branches: 16, BranchesConfig: "k",
	ConfigSchema: `{"type": "object", "additionalProperties": false, "properties": {
		"k": {"type": "integer", "minimum": 1, "maximum": 16, "default": 4, "title": "Continuations", "description": "continuations, at most"},
		"answer": {"type": "string", "minLength": 1, "maxLength": 1000, "default": "-?[0-9]+(?:[.,][0-9]+)*", "title": "Answer", "description": "a regular expression; what its first group, or all of it, matches last is the answer of a text: by default the last number"},
		"aggregate": {"type": "boolean", "default": false, "title": "Aggregate", "description": "add up the margins of texts with the same answer"},
		"branch": {"enum": ["first", "entropy"], "default": "first", "title": "Branch", "description": "first: the likeliest first tokens are continued; entropy: a text is also continued with its second likeliest token where entropy and varentropy are high"},
		"entropy": {"type": "number", "minimum": 0, "maximum": 20, "default": 1, "title": "Entropy", "description": "nats from which the entropy is high"},
		"varentropy": {"type": "number", "minimum": 0, "maximum": 100, "default": 1, "title": "Varentropy", "description": "squared nats from which the varentropy is high"}
	}}`,
})

func main() {}

type cot struct {
	answer *regexp.Regexp
	row    []float32
}

// path is a continuation of the prompt. Margins are the probability of each token less the highest
// of another.
type path struct {
	tokens  []penstock.Token
	logs    []float32
	margins []float32
	ended   bool
}

// Open implements penstock.Opener.
func (p *cot) Open(q *penstock.Request) (err error) {
	p.answer, err = regexp.Compile(q.Config.Get("answer").Text())
	return err
}

// Run implements penstock.Runner.
func (p *cot) Run(r *penstock.Run) error {
	branches, paths := p.continuations(r)
	if r.Err() != nil {
		return r.Err()
	}
	r.Select(branches)
	all, sums, list := make([]measured, len(paths)), map[string]any{}, make([]any, len(paths))
	for i := range paths {
		m := p.measure(&paths[i])
		told := map[string]any{"text": penstock.TextOf(paths[i].tokens), "answer": m.answer, "margin": nil}
		if m.answer != "" {
			told["margin"] = m.margin
			sum, _ := sums[m.answer].(float64)
			sums[m.answer] = sum + m.margin
		}
		all[i], list[i] = m, told
	}
	best := choose(all, r.Config().Get("aggregate").Bool())
	r.ShowScored(paths[best].tokens, paths[best].logs)
	return penstock.Output(map[string]any{"paths": list, "answers": sums, "best": best})
}

// measured is a path's answer, and how sure the model is of it. Without an answer, the path is
// worth less than any that has one.
type measured struct {
	answer string
	margin float64
}

// noMargin is less than any margin, and than what one adds up to with 16 paths.
const noMargin = -100

// choose is the path with the largest margin, or the one with the largest among those whose answer
// has the largest sum.
func choose(all []measured, aggregate bool) (best int) {
	rank := func(m measured) (sum float64) {
		for _, other := range all {
			if other.answer == m.answer && m.answer != "" {
				sum += other.margin
			}
		}
		if m.answer == "" || !aggregate {
			return m.margin
		}
		return sum
	}
	for i, m := range all {
		if a, b := rank(m), rank(all[best]); a > b || a == b && m.margin > all[best].margin {
			best = i
		}
	}
	return best
}

// continuations grows all paths to their ends.
func (p *cot) continuations(r *penstock.Run) ([]*penstock.Branch, []path) {
	c := r.Config()
	k, first, entropy, varentropy := c.Get("k").Int(), c.Get("branch").Text() == "first", c.Get("entropy").Float(), c.Get("varentropy").Float()
	branches, paths := []*penstock.Branch{r.Prompt()}, make([]path, 1)
	for n := 0; n < r.MaxTokens(); n++ {
		var alive []*penstock.Branch
		for i := range paths {
			if !paths[i].ended {
				alive = append(alive, branches[i])
			}
		}
		if len(alive) == 0 || !r.Wait(max(k, 2), alive...) {
			break
		}
		for i := range len(paths) {
			if paths[i].ended {
				continue
			}
			width := 1
			switch room := k - len(paths) + 1; {
			case first && n == 0:
				width = k
			case !first && room > 1 && float64(branches[i].Entropy()) >= entropy && p.varentropy(branches[i]) >= varentropy:
				width = 2
			}
			ids, logs := branches[i].Best(max(width, 2))
			ids, logs = append([]penstock.Token(nil), ids...), append([]float32(nil), logs...)
			for rank := min(width, len(ids)) - 1; rank >= 0; rank-- { // the best goes on in the path itself
				b, grown := branches[i], &paths[i]
				if rank > 0 {
					b, paths = b.Fork(), append(paths, paths[i].clone())
					branches, grown = append(branches, b), &paths[len(paths)-1]
				}
				if grown.add(r, ids, logs, rank); !grown.ended {
					b.Append(ids[rank])
				}
			}
		}
	}
	return branches, paths
}

// clone is another path with the same beginning.
func (p *path) clone() path {
	return path{tokens: append([]penstock.Token(nil), p.tokens...), logs: append([]float32(nil), p.logs...), margins: append([]float32(nil), p.margins...)}
}

// add appends the token of a rank, or ends the path.
func (p *path) add(r *penstock.Run, ids []penstock.Token, logs []float32, rank int) {
	if p.ended = r.Ends(ids[rank]); p.ended {
		return
	}
	margin, other := exp(logs[rank]), 0
	if rank == 0 {
		other = 1
	}
	if other < len(logs) {
		margin -= exp(logs[other])
	}
	p.tokens, p.logs, p.margins = append(p.tokens, ids[rank]), append(p.logs, logs[rank]), append(p.margins, margin)
}

func exp(x float32) float32 { return float32(math.Exp(float64(x))) }

// varentropy is the variance of the surprise, of which the entropy is the mean.
func (p *cot) varentropy(b *penstock.Branch) float64 {
	if p.row == nil {
		p.row = make([]float32, penstock.VocabSize())
	}
	b.Logits(p.row)
	return variance(p.row, float64(b.LogSum()))
}

// variance is that of the logarithm of a distribution's probabilities, given its logits and the
// logarithm of the sum of their exponentials.
func variance(row []float32, sum float64) float64 {
	mean, squares := 0.0, 0.0
	for _, logit := range row {
		if log := float64(logit) - sum; log > -30 { // less adds nothing
			q := math.Exp(log)
			mean += q * log
			squares += q * log * log
		}
	}
	return squares - mean*mean
}

// measure finds a path's answer, and the mean margin of the tokens that it is written with.
func (p *cot) measure(q *path) measured {
	text := penstock.TextOf(q.tokens)
	found := p.answer.FindAllStringSubmatchIndex(text, -1)
	if len(found) == 0 {
		return measured{"", noMargin}
	}
	last := found[len(found)-1]
	from, to := last[0], last[1]
	if len(last) > 2 && last[2] >= 0 {
		from, to = last[2], last[3]
	}
	answer := strings.TrimSpace(text[from:to])
	if answer == "" {
		return measured{"", noMargin}
	}
	from += strings.Index(text[from:to], answer)
	to = from + len(answer)
	at, margin, count, piece := 0, 0.0, 0, []byte(nil)
	for i, t := range q.tokens {
		piece = penstock.Piece(t, piece)
		if at < to && at+len(piece) > from {
			margin, count = margin+float64(q.margins[i]), count+1
		}
		at += len(piece)
	}
	return measured{answer, margin / float64(max(1, count))}
}
