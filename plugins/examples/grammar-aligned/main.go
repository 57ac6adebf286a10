// SPDX-License-Identifier: MIT

// Command grammar-aligned is a plugin that owns its request: it draws texts that fit a grammar as
// often as the model would write them by itself, by ASAp (Park et al., Grammar-Aligned Decoding,
// 2024).
package main

import (
	"fmt"

	"github.com/penstock/penstock/plugins/examples/internal/fitting"
	"github.com/penstock/penstock/plugins/sdk/go/grammar"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

var _ = penstock.Register[aligned](penstock.Manifest{
	Name: "grammar-aligned", Version: "1.0.0", Summary: "draws texts that fit a grammar as often as the model writes them by itself",
	Branches: 16, BranchesConfig: "parallel",
	ConfigSchema: `{
		"title": "Grammar-aligned sampling",
		"type": "object",
		"additionalProperties": false,
		"oneOf": [{"required": ["grammar"]}, {"required": ["json_schema"]}],
		"properties": {
			"grammar": {"title": "Grammar", "type": "string", "minLength": 1, "maxLength": 262144, "description": "in llama.cpp's notation, GBNF"},
			"json_schema": {"title": "JSON schema", "type": ["object", "boolean"], "description": "in the place of a grammar"},
			"samples": {"title": "Samples", "type": "integer", "minimum": 1, "maximum": 1000, "default": 32, "description": "how many texts are drawn; each learns from those before, and the last are the answer"},
			"parallel": {"title": "At once", "type": "integer", "minimum": 1, "maximum": 16, "default": 4, "description": "how many are drawn at once; each takes a slot"}
		}
	}`,
})

func main() {}

type aligned struct{ grammar *grammar.Grammar }

// Open implements penstock.Opener.
func (a *aligned) Open(q *penstock.Request) (err error) {
	a.grammar, err = fitting.Open(q.Config)
	return err
}

// Bounds of a request: how long a text is, and how many tokens a host lets a program put into each
// branch besides a prompt and an answer.
const (
	longest = 4096
	spare   = 256
)

// Run implements penstock.Runner.
func (a *aligned) Run(r *penstock.Run) error {
	root := r.Prompt()
	a.grammar.Branch(root)
	s := search{Run: r, root: &node{future: 1}, plain: r.Chain(`{"temperature": 1, "samplers": ["temperature"]}`),
		start: root.Len(), most: min(r.MaxTokens(), longest), others: penstock.NewMask(), one: penstock.NewMask()}
	samples, walks := max(r.Config().Get("samples").Int(), r.Choices()), make([]walk, r.Config().Get("parallel").Int())
	for i, b := range r.Select([]*penstock.Branch{root}, make([]int, len(walks))...) {
		walks[i] = walk{Branch: b, over: true}
	}
	allowed, begun := len(walks)*(s.most+spare), 0
	for r.Err() == nil {
		var alive []*walk
		for i := range walks {
			if !walks[i].over {
				alive = append(alive, &walks[i])
			}
		}
		for i := range walks {
			if w := &walks[i]; w.over && begun < samples && s.root.future > 0 && s.used+(len(alive)+1)*(s.most+1) <= allowed {
				s.begin(w)
				begun++
				alive = append(alive, w)
			}
		}
		if len(alive) == 0 {
			break
		}
		var waiting []*penstock.Branch
		for _, w := range alive {
			if s.descend(w); !w.over {
				waiting = append(waiting, w.Branch)
			}
		}
		if len(waiting) > 0 && !r.Wait(0, waiting...) {
			break
		}
		for _, w := range alive {
			if !w.over {
				s.draw(w)
			}
		}
	}
	if err := r.Err(); err != nil {
		return err
	}
	n, all := r.Choices(), append(s.cut, s.texts...) // those that are not complete only for want of others
	if len(all) < n {
		return fmt.Errorf("%d texts were drawn, and n is %d; raise samples or lower max_tokens, and see that the model has tokens for the grammar", len(all), n)
	}
	for choice, tokens := range all[len(all)-n:] {
		r.ShowChoice(choice, tokens, nil)
	}
	return penstock.Output(map[string]any{"samples": begun, "complete": len(s.texts), "grammatical": s.root.future})
}
