// SPDX-License-Identifier: MIT

// Command choice is a plugin that owns its request: it scores given answers exactly, and gives the
// likeliest.
package main

import (
	"errors"
	"slices"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

var _ = penstock.Register[choice](penstock.Manifest{
	Name: "choice", Version: "1.0.0", Summary: "the likeliest of given answers, by their exact log-probabilities",
	Branches: 4,
	ConfigSchema: `{"type": "object", "additionalProperties": false, "required": ["choices"], "properties": {
		"choices": {"type": "array", "minItems": 1, "maxItems": 100, "items": {"type": "string", "minLength": 1, "maxLength": 1000}, "description": "the answers"},
		"normalize": {"enum": ["none", "tokens", "bytes"], "default": "none", "description": "by what an answer's log-probability is divided"}
	}}`,
})

func main() {}

type choice struct {
	texts     []string
	tokens    [][]penstock.Token // of each text
	normalize string
}

// Open implements penstock.Opener.
func (p *choice) Open(q *penstock.Request) error {
	p.normalize = q.Config.Get("normalize").Text()
	for i := range q.Config.Get("choices").Len() {
		text := q.Config.Get("choices").At(i).Text()
		tokens := penstock.Tokenize(text, 0)
		if len(tokens) == 0 {
			return errors.New("choices: the model has no tokens for " + text)
		}
		p.texts, p.tokens = append(p.texts, text), append(p.tokens, tokens)
	}
	return nil
}

// Run implements penstock.Runner. The prompt is computed once, and a few answers at a time after
// it.
func (p *choice) Run(r *penstock.Run) error {
	root, scores, list := r.Prompt(), []float64(nil), []any(nil)
	r.Wait(0, root)
	for group := range slices.Chunk(p.tokens, 3) {
		var branches []*penstock.Branch
		for _, tokens := range group {
			b := root.Fork()
			b.AppendScored(tokens...)
			branches = append(branches, b)
		}
		if !r.Wait(0, branches...) {
			return r.Err()
		}
		for _, b := range branches {
			i, sum := len(scores), 0.0
			for _, log := range b.Scores(root.Len()) {
				sum += float64(log)
			}
			scores = append(scores, sum/p.length(i))
			list = append(list, map[string]any{"text": p.texts[i], "tokens": len(p.tokens[i]), "logprob": sum, "score": scores[i]})
			b.Close()
		}
	}
	best := slices.Index(scores, slices.Max(scores))
	r.Show(p.tokens[best]...)
	return penstock.Output(map[string]any{"choices": list})
}

// length is what a choice's log-probability is divided by.
func (p *choice) length(i int) float64 {
	return map[string]float64{"none": 1, "tokens": float64(len(p.tokens[i])), "bytes": float64(len(p.texts[i]))}[p.normalize]
}
