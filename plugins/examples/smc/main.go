// SPDX-License-Identifier: MIT

// Command smc is a plugin that owns its request: it draws a text that keeps a rule, by sequential
// Monte Carlo.
package main

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/penstock/penstock/plugins/sdk/go/grammar"
	"github.com/penstock/penstock/plugins/sdk/go/json"
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
func (p *smc) Open(q *penstock.Request) error {
	if text := q.Config.Get("grammar").Text(); text != "" {
		return p.open(grammar.GBNF, "grammar", text)
	}
	if schema := q.Config.Get("json_schema"); schema.Kind() != json.Null {
		text, err := json.Append(nil, schema)
		if err != nil {
			return err
		}
		return p.open(grammar.JSONSchema, "json_schema", string(text))
	}
	p.allowed = penstock.NewMask()
	for t := range penstock.Token(p.words.Len()) {
		if len(p.words.Piece(t)) > 0 && !strings.ContainsAny(string(p.words.Piece(t)), q.Config.Get("without").Text()) || penstock.AttributesOf(t)&penstock.AttrEnd != 0 {
			p.allowed.Allow(t)
		}
	}
	return nil
}

func (p *smc) open(kind grammar.Kind, field, text string) error {
	g, err := grammar.Open(kind, text)
	if err != nil {
		return fmt.Errorf("%s: %w", field, err)
	}
	p.grammar = &g
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
// keep the rule: by what is left of its row. How much all of the row was, a score tells, which is
// by all tokens.
func draw(r *penstock.Run, q *particle, plain *penstock.Chain, one *penstock.Mask) {
	allowed := q.LogSum()
	if math.IsInf(float64(allowed), -1) {
		q.log, q.ended = math.Inf(-1), true
		return
	}
	t := q.Sample(plain)
	one.BanAll()
	one.Allow(t)
	q.Mask(one)
	logit := q.LogSum()
	q.AppendScored(t)
	q.ended = r.Ends(t)
	if scores := q.Scores(q.Len() - 1); len(scores) > 0 {
		q.log += float64(allowed - logit + scores[0])
	}
}
