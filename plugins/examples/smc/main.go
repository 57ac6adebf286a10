// SPDX-License-Identifier: MIT

// Command smc is a plugin that owns its request: it draws a text that keeps a rule, by sequential
// Monte Carlo.
package main

import (
	"errors"
	"math"
	"strings"

	"github.com/penstock/penstock/plugins/examples/internal/fitting"
	"github.com/penstock/penstock/plugins/sdk/go/grammar"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

var _ = penstock.Register[smc](penstock.Manifest{
	Name: "smc", Version: "1.1.0", Summary: "draws a text that fits a grammar or has none of some characters, as likely as the model's own that happen to",
	Branches: 16, BranchesConfig: "particles",
	ConfigSchema: `{
		"title": "Sequential Monte Carlo",
		"type": "object",
		"additionalProperties": false,
		"oneOf": [{"required": ["without"]}, {"required": ["grammar"]}, {"required": ["json_schema"]}],
		"properties": {
			"without": {"title": "Without", "type": "string", "minLength": 1, "maxLength": 100, "description": "characters that the text has none of"},
			"grammar": {"title": "Grammar", "type": "string", "minLength": 1, "maxLength": 262144, "description": "that the text fits, in llama.cpp's notation, GBNF"},
			"json_schema": {"title": "JSON schema", "type": ["object", "boolean"], "description": "in the place of a grammar"},
			"particles": {"title": "Particles", "type": "integer", "minimum": 1, "maximum": 16, "default": 4, "description": "continuations that are drawn at once; each takes a slot"}
		}
	}`,
})

func main() {}

type smc struct {
	words   *penstock.Vocabulary
	allowed *penstock.Mask   // nil: there is a grammar
	grammar *grammar.Grammar // nil: there is none
}

// Warm implements penstock.Warmer.
func (p *smc) Warm(words *penstock.Vocabulary) error {
	p.words = words
	return nil
}

// Open implements penstock.Opener. Without a grammar it allows the end tokens, and those without
// the characters.
func (p *smc) Open(q *penstock.Request) (err error) {
	if p.grammar, err = fitting.Open(q.Config); err != nil || p.grammar != nil {
		return err
	}
	p.allowed = penstock.NewMask()
	for t := range penstock.Token(p.words.Len()) {
		if len(p.words.Piece(t)) > 0 && !strings.ContainsAny(string(p.words.Piece(t)), q.Config.Get("without").Text()) || penstock.AttributesOf(t)&penstock.AttrEnd != 0 {
			p.allowed.Allow(t)
		}
	}
	return nil
}

var errNone = errors.New("no text keeps the rule within max_tokens: raise it, or particles, or loosen the rule")

// Run implements penstock.Runner.
func (p *smc) Run(r *penstock.Run) error {
	root, plain, one := r.Prompt(), r.Chain(`{"temperature": 1, "samplers": ["temperature"]}`), penstock.NewMask()
	if p.grammar != nil {
		p.grammar.Branch(root)
	}
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
				if p.allowed != nil {
					q.Mask(p.allowed)
				}
				draw(r, q, plain, one)
			}
		}
		weights, mean, size := weigh(particles)
		if math.IsInf(mean, -1) {
			return errNone
		}
		if 2*size < float64(len(particles)) {
			resample(r, particles, weights)
			evidence += mean
		}
	}
	if r.Err() != nil {
		return r.Err()
	}
	if p.grammar != nil && len(branches(particles, false)) < len(particles) {
		for i := range particles {
			if !particles[i].ended {
				particles[i].log = math.Inf(-1) // others are whole
			}
		}
	}
	weights, mean, _ := weigh(particles)
	if math.IsInf(mean, -1) {
		return errNone
	}
	list := []any(nil)
	for i, q := range particles {
		list = append(list, map[string]any{"text": penstock.TextOf(q.Tokens(start)), "weight": weights[i]})
	}
	r.Show(particles[pick(weights, float64(penstock.Uniform()))].Tokens(start)...)
	return penstock.Output(map[string]any{"log_evidence": evidence + mean, "particles": list})
}

// draw appends a token that the rule allows, and weighs the particle by how likely the model was to
// keep the rule: by what is left of its row.
func draw(r *penstock.Run, q *particle, plain *penstock.Chain, one *penstock.Mask) {
	allowed := q.LogSum()
	if math.IsInf(float64(allowed), -1) {
		q.log, q.ended = math.Inf(-1), true
		return
	}
	t, logit, score := fitting.Draw(q.Branch, plain, one)
	q.ended = r.Ends(t)
	q.log += float64(allowed - logit + score)
}

// particle is a continuation with a weight.
type particle struct {
	*penstock.Branch
	log   float64 // of its weight
	ended bool
}

// weigh gives the particles' weights, whose sum is 1, the logarithm of their mean before, and how
// many particles of equal weight they are worth.
func weigh(particles []particle) (weights []float64, mean, size float64) {
	highest, sum, squares := math.Inf(-1), 0.0, 0.0
	for _, q := range particles {
		highest = max(highest, q.log)
	}
	if math.IsInf(highest, -1) { // none has a weight
		return make([]float64, len(particles)), highest, 0
	}
	for _, q := range particles {
		weights = append(weights, math.Exp(q.log-highest))
		sum += weights[len(weights)-1]
	}
	for i := range weights {
		weights[i] /= sum
		squares += weights[i] * weights[i]
	}
	return weights, highest + math.Log(sum/float64(len(weights))), 1 / squares
}

// pick is the index whose part of the weights has the place u of the whole, from 0 to 1.
func pick(weights []float64, u float64) (i int) {
	for ; i < len(weights)-1 && u >= weights[i]; i++ {
		u -= weights[i]
	}
	return i
}

// branches are those of the particles that are alive, or of all.
func branches(particles []particle, all bool) (list []*penstock.Branch) {
	for _, q := range particles {
		if all || !q.ended {
			list = append(list, q.Branch)
		}
	}
	return list
}

// resample draws as many particles by their weights, which are equal then.
func resample(r *penstock.Run, particles []particle, weights []float64) {
	picks, u := make([]int, len(particles)), float64(penstock.Uniform())
	for i := range picks {
		picks[i] = pick(weights, (u+float64(i))/float64(len(picks)))
	}
	old := append([]particle(nil), particles...)
	for i, b := range r.Select(branches(particles, true), picks...) {
		particles[i] = particle{b, 0, old[picks[i]].ended}
	}
}
