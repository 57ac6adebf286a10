// SPDX-License-Identifier: MIT

// Command form is a plugin that owns its request: it fills in a template, and what does not depend
// on one another side by side.
package main

import (
	"errors"
	"strings"

	"github.com/penstock/penstock/plugins/sdk/go/json"
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

// field stands in the template after a text, and ends where the next one begins.
type field struct {
	name, before, end, value string
	after                    []*field
	branch                   *penstock.Branch // nil: it is not begun
	tokens                   int
	filled                   bool
}

// parse finds the fields of a template, and gives the text after the last.
func parse(template string, after json.Value) (fields []*field, rest string, err error) {
	named := map[string]*field{}
	for rest = template; ; {
		before, from, found := strings.Cut(rest, "{")
		name, behind, closed := strings.Cut(from, "}")
		switch {
		case !found && len(fields) == 0:
			return nil, "", errors.New("template: it has no field, such as {name}")
		case !found:
			return fields, rest, nil
		case !closed || named[name] != nil:
			return nil, "", errors.New("template: a field does not end, or is there twice: " + name)
		}
		f := &field{name: name, before: before, end: "\n"}
		for _, first := range behind {
			if first != '{' {
				f.end = string(first)
			}
			break
		}
		for i := range after.Get(name).Len() {
			other := named[after.Get(name).At(i).Text()]
			if other == nil {
				return nil, "", errors.New("after: " + name + " depends on what is no field before it: " + after.Get(name).At(i).Text())
			}
			f.after = append(f.after, other)
		}
		named[name], fields, rest = f, append(fields, f), behind
	}
}

// ready reports whether all is filled that the field depends on.
func (f *field) ready() bool {
	for _, other := range f.after {
		if !other.filled {
			return false
		}
	}
	return true
}

// context is what the model reads between the prompt and the field.
func (f *field) context() (text string) {
	for _, other := range f.after {
		text += other.before + other.value
	}
	return text + f.before
}

// grow draws a token of the field.
func (f *field) grow(r *penstock.Run, most int) {
	t := f.branch.Sample(nil)
	f.tokens++
	text, _, ended := strings.Cut(f.value+string(penstock.Piece(t, nil)), f.end)
	if f.value, f.filled = text, ended || r.Ends(t) || f.tokens == most; f.filled {
		f.branch.Close()
	} else {
		f.branch.Append(t)
	}
}

// open is how many fields are being filled.
func open(fields []*field) (n int) {
	for _, f := range fields {
		if f.branch != nil && !f.filled {
			n++
		}
	}
	return n
}
