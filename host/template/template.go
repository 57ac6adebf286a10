// SPDX-License-Identifier: MIT

// Package template renders conversations with a model's chat template: llama.cpp says what the
// template is told, and package jinja makes the text.
//
// What llama.cpp finds out about a template's format of answers, it finds out with an interpreter
// of its own. The text of prompts does not come from that one, since templates are written for
// Python's Jinja2, and it is another in much.
package template

import (
	"context"
	"errors"
	"fmt"

	"github.com/penstock/penstock/host/jinja"
	"github.com/penstock/penstock/native"
)

// Template is a model's chat template. It is safe for concurrent use.
type Template struct {
	llama        *native.Template
	plain, tools *program // tools is for conversations with tools; nil: the same
}

// program is a template in Jinja.
type program struct {
	*jinja.Template
	source string
}

// New is what native.NewTemplate makes of source. A template that cannot be read is a
// native.ErrFailed, which names the line.
func New(m *native.Model, source string) (*Template, error) {
	llama, err := native.NewTemplate(m, source)
	if err != nil {
		return nil, err
	}
	t := &Template{llama: llama}
	if info := llama.Info(); !info.ByName {
		t.plain, err = read(info.Source)
		if err == nil && info.ToolSource != "" {
			t.tools, err = read(info.ToolSource)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("chat template: %w: %w", native.ErrFailed, err), llama.Close())
	}
	return t, nil
}

func read(source string) (*program, error) {
	p, err := jinja.Parse(source + "\n") // llama.cpp has taken one off the end
	return &program{p, source}, err
}

// Info describes the template.
func (t *Template) Info() native.TemplateInfo { return t.llama.Info() }

// Close frees what llama.cpp knows of the template.
func (t *Template) Close() error { return t.llama.Close() }

// Render turns a conversation into a prompt. Errors are those of native.Template's Render; the
// template's complaint is a *jinja.Error.
//
// A template that does what Python refuses, such as to add a value that only some programs tell it,
// is rendered leniently.
func (t *Template) Render(ctx context.Context, c native.Conversation) (native.Prompt, error) {
	return t.RenderIn(ctx, c, new(Way))
}

// RenderIn is Render in a way that an earlier rendering of the conversation has found, which it
// replaces if another is needed: the template's tries to render it otherwise are not repeated.
func (t *Template) RenderIn(ctx context.Context, c native.Conversation, w *Way) (native.Prompt, error) {
	if t.plain == nil {
		return t.llama.Render(ctx, c, nil)
	}
	return t.llama.Render(ctx, c, func(told []byte) (string, error) { // of one conversation more than once
		text, err := t.write(ctx, told, c, *w)
		for _, other := range []Way{{alternatives: true}, {lenient: true}} {
			if err != nil && other != *w && other.mends(err, c) {
				if text, err := t.write(ctx, told, c, other); err == nil {
					*w = other
					return text, nil
				}
			}
		}
		return text, err
	})
}

// Way is how a template has to be rendered for a conversation. The zero value is the usual way.
type Way struct {
	// The tools have no lists of types, but say the same with anyOf: Hermes 3's template, for one,
	// calls itself for ever at the type null in a list.
	alternatives bool

	lenient bool // jinja.Template.Lenient
}

// mends reports whether an error may be one that there is not in this way.
func (w Way) mends(err error, c native.Conversation) bool {
	var complaint *jinja.Error
	if !errors.As(err, &complaint) {
		return false
	}
	return w.lenient && complaint.Kind == jinja.Fault || w.alternatives && complaint.Kind == jinja.Bound && len(c.Tools) > 0
}

// Refuses reports whether an error of Render is the template's refusal of what it was told, and not
// that this takes too long or cannot be told at all, or that llama.cpp makes nothing of the tools.
func (t *Template) Refuses(err error) bool {
	if t.plain == nil {
		return errors.Is(err, native.ErrFailed)
	}
	var complaint *jinja.Error
	return errors.As(err, &complaint) && (complaint.Kind == jinja.Fault || complaint.Kind == jinja.Raised)
}

// write makes the text of what llama.cpp tells.
func (t *Template) write(ctx context.Context, told []byte, c native.Conversation, w Way) (string, error) {
	values, err := jinja.FromJSON(told)
	if err != nil {
		return "", fmt.Errorf("what the template is told: %w", err)
	}
	said := values.(*jinja.Dict) // llama.cpp tells an object
	p := t.plain
	tools, ok := said.Get("tools")
	if ok && t.tools != nil {
		p = t.tools
	}
	if err := restoreNumbers(said, c); err != nil {
		return "", err
	}
	nameReasoning(said)
	dropUnreadBlocks(said, p.source)
	if w.alternatives {
		withoutTypeLists(tools)
	}
	if !w.lenient {
		return p.Render(ctx, said)
	}
	nameFunctions(said, c)
	lenient := *p.Template
	lenient.Lenient = true
	return lenient.Render(ctx, said)
}
