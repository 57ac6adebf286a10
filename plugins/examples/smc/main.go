// SPDX-License-Identifier: MIT

// Command smc is a plugin that owns its request: it draws a text that keeps a rule, by sequential
// Monte Carlo.
package main

import (
	"strings"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

var _ = penstock.Register[smc](penstock.Manifest{
	Name: "smc", Version: "1.0.0", Summary: "draws a text without given characters, as likely as the model's own that happen to have none",
	Branches: 16, BranchesConfig: "particles",
	ConfigSchema: `{"type": "object", "additionalProperties": false, "required": ["without"], "properties": {
		"without": {"type": "string", "minLength": 1, "maxLength": 100, "description": "characters that the text has none of"},
		"particles": {"type": "integer", "minimum": 1, "maximum": 16, "default": 4, "description": "continuations that are drawn at once"}}}`,
})

func main() {}

type smc struct {
	words   *penstock.Vocabulary
	allowed *penstock.Mask
}

// Warm implements penstock.Warmer.
func (p *smc) Warm(words *penstock.Vocabulary) error {
	p.words = words
	return nil
}

// Open implements penstock.Opener. It allows the end tokens, and those without the characters.
func (p *smc) Open(q *penstock.Request) error {
	p.allowed = penstock.NewMask()
	for t := range penstock.Token(p.words.Len()) {
		if len(p.words.Piece(t)) > 0 && !strings.ContainsAny(string(p.words.Piece(t)), q.Config.Get("without").Text()) || penstock.AttributesOf(t)&penstock.AttrEnd != 0 {
			p.allowed.Allow(t)
		}
	}
	return nil
}

// Run implements penstock.Runner.
func (p *smc) Run(r *penstock.Run) error {
	root, plain := r.Prompt(), r.Chain(`{"temperature": 1, "samplers": ["temperature"]}`)
	start, evidence, particles := root.Len(), 0.0, make([]particle, r.Config().Get("particles").Int())
	for i, b := range r.Select([]*penstock.Branch{root}, make([]int, len(particles))...) {
		particles[i].Branch = b
	}
	for step := 0; step < r.MaxTokens(); step++ {
		alive := branches(particles, false)
		if len(alive) == 0 || !r.Wait(0, alive...) {
			break
		}
		for i := range particles {
			if q := &particles[i]; !q.ended {
				all := q.LogSum()
				q.Mask(p.allowed)
				q.log += float64(q.LogSum() - all)
				t := q.Sample(plain)
				if q.ended = r.Ends(t); !q.ended {
					q.Append(t)
				}
			}
		}
		if weights, mean, size := weigh(particles); 2*size < float64(len(particles)) {
			resample(r, particles, weights)
			evidence += mean
		}
	}
	weights, mean, _ := weigh(particles)
	list := []any(nil)
	for i, q := range particles {
		list = append(list, map[string]any{"text": penstock.TextOf(q.Tokens(start)), "weight": weights[i]})
	}
	r.Show(particles[pick(weights, float64(penstock.Uniform()))].Tokens(start)...)
	return penstock.Output(map[string]any{"log_evidence": evidence + mean, "particles": list})
}
