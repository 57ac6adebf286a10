// SPDX-License-Identifier: MIT

// Command form is a plugin that owns its request: it fills in a template, and what does not depend
// on one another side by side.
package main

import (
	"strings"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

var _ = penstock.Register[form](penstock.Manifest{
	Name: "form", Version: "1.0.0", Summary: "fills in the fields of a template, side by side where they do not depend on one another",
	Branches: 16, BranchesConfig: "at_once",
	ConfigSchema: `{"type": "object", "additionalProperties": false, "required": ["template"], "properties": {
		"template": {"type": "string", "minLength": 3, "maxLength": 20000, "description": "a text with fields like {name}"},
		"after": {"type": "object", "additionalProperties": {"type": "array", "maxItems": 100, "items": {"type": "string"}}, "default": {}, "description": "the fields, all before it, that a field depends on"},
		"max_tokens": {"type": "integer", "minimum": 1, "maximum": 10000, "default": 32, "description": "tokens that a field has at most"},
		"at_once": {"type": "integer", "minimum": 1, "maximum": 16, "default": 4, "description": "fields that are filled at once"}
	}}`,
})

func main() {}

type form struct {
	fields []*field
	rest   string // of the template, after the last field
}

// Open implements penstock.Opener.
func (p *form) Open(q *penstock.Request) (err error) {
	p.fields, p.rest, err = parse(q.Config.Get("template").Text(), q.Config.Get("after"))
	return err
}

// Run implements penstock.Runner.
func (p *form) Run(r *penstock.Run) error {
	most, atOnce := r.Config().Get("max_tokens").Int(), r.Config().Get("at_once").Int()
	for {
		var filling []*penstock.Branch
		for _, f := range p.fields {
			if f.branch == nil && f.ready() && open(p.fields) < atOnce {
				f.branch = r.Prompt()
				f.branch.Append(penstock.Tokenize(f.context(), 0)...)
			}
			if f.branch != nil && !f.filled {
				filling = append(filling, f.branch)
			}
		}
		if len(filling) == 0 || !r.Wait(0, filling...) {
			break
		}
		for _, f := range p.fields {
			if f.branch != nil && !f.filled {
				f.grow(r, most)
			}
		}
	}
	text, values := "", map[string]any{}
	for _, f := range p.fields {
		text, values[f.name] = text+f.before+f.value, strings.TrimSpace(f.value)
	}
	r.Show(penstock.Tokenize(text+p.rest, 0)...)
	return penstock.Output(values)
}
