// SPDX-License-Identifier: MIT

// Package template renders conversations with a model's chat template: llama.cpp says what the
// template is told, and package jinja makes the text.
//
// What llama.cpp finds out about a template's format of answers, it finds out with an interpreter
// of its own. The text of prompts does not come from that one, since templates are written for
// Python's Jinja2, and it is another in much.
package template

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

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

// Render turns a conversation into a prompt. It fails as native.Template's Render does; the
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
			if err != nil && other != *w && other.mayMend(err, c) {
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

// mayMend reports whether an error may be one that there is not in this way.
func (w Way) mayMend(err error, c native.Conversation) bool {
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

// nameReasoning tells what llama.cpp tells a template by more names than one, in caps.cpp:
// different templates ask for it by different ones.
func nameReasoning(told *jinja.Dict) {
	tell := func(name string, v jinja.Value) { tell(told, name, v) }
	if v, _ := told.Get("preserve_reasoning"); v != nil {
		if all, ok := v.(bool); ok {
			tell("preserve_thinking", all)
			for _, name := range []string{"clear_thinking", "truncate_history_thinking", "drop_thinking"} {
				tell(name, !all)
			}
		}
	}
	if v, _ := told.Get("reasoning_effort"); v != nil {
		tell("reasoning_strength", v)
	}
}

// tell sets what is not told yet.
func tell(told *jinja.Dict, name string, v jinja.Value) {
	if _, ok := told.Get(name); !ok {
		told.Set(name, v)
	}
}

// nameFunctions tells the tools as the text that firefunction's template wants.
func nameFunctions(told *jinja.Dict, c native.Conversation) {
	var text bytes.Buffer
	if json.Indent(&text, c.Tools, "", "  ") != nil { // there are none
		text.Reset()
	}
	tell(told, "functions", text.String())
}

// dropUnreadBlocks leaves out of contents what llama.cpp put there for another model's template:
// it takes Devstral's for Ministral's, and writes reasoning as a block, where Devstral's reads
// the first block as the text. A template that reads such a block names its type.
func dropUnreadBlocks(told *jinja.Dict, source string) {
	const thinking = "thinking"
	if strings.Contains(source, thinking) {
		return
	}
	for _, m := range dicts(told, "messages") {
		content, _ := m.Get("content")
		blocks, ok := content.(*jinja.List)
		if !ok {
			continue
		}
		var read []jinja.Value
		for _, b := range blocks.Items {
			if d, ok := b.(*jinja.Dict); !ok || text(d, "type") != thinking {
				read = append(read, b)
			}
		}
		blocks.Items = read
	}
}

// withoutTypeLists has schemas within a value say with anyOf what they say with a list of types.
func withoutTypeLists(v jinja.Value) {
	switch v := v.(type) {
	case *jinja.List:
		for _, item := range v.Items {
			withoutTypeLists(item)
		}
	case *jinja.Dict:
		types, _ := v.Get("type")
		if list, ok := types.(*jinja.List); ok {
			any := &jinja.List{}
			for _, t := range list.Items {
				d := jinja.NewDict(1)
				d.Set("type", t)
				any.Items = append(any.Items, d)
			}
			v.Replace("type", "anyOf", any)
		}
		for item := range v.Values() {
			withoutTypeLists(item)
		}
	}
}

// dicts are the dicts in the list at name.
func dicts(d *jinja.Dict, name string) (out []*jinja.Dict) {
	v, _ := d.Get(name)
	if list, ok := v.(*jinja.List); ok {
		for _, item := range list.Items {
			if d, ok := item.(*jinja.Dict); ok {
				out = append(out, d)
			}
		}
	}
	return out
}

func text(d *jinja.Dict, name string) string {
	v, _ := d.Get(name)
	s, _ := v.(string)
	return s
}

func child(d *jinja.Dict, name string) *jinja.Dict {
	v, _ := d.Get(name)
	if c, ok := v.(*jinja.Dict); ok {
		return c
	}
	return &jinja.Dict{}
}

// restoreNumbers puts the ints of a conversation back that no 64 bits hold: llama.cpp's JSON makes
// floats of them. All other numbers come through it as they are.
func restoreNumbers(told *jinja.Dict, c native.Conversation) error {
	if hasLongInt(c.Tools) {
		own, err := wrapList(c.Tools)
		if err != nil {
			return fmt.Errorf("the tools: %w", err)
		}
		tools, of := dicts(told, "tools"), dicts(own, "list")
		for i := range min(len(tools), len(of)) {
			if p, ok := child(of[i], "function").Get("parameters"); ok {
				child(tools[i], "function").Set("parameters", p)
			}
		}
	}
	for name, value := range c.TemplateArgs {
		if _, ok := told.Get(name); !ok || !hasLongInt(value) {
			continue
		}
		v, err := jinja.FromJSON(value)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		told.Set(name, v)
	}
	if hasLongInt(c.Messages) {
		return restoreCalls(told, c)
	}
	return nil
}

// restoreCalls puts back the arguments of calls. llama.cpp may have put messages together, but
// calls stay in order.
func restoreCalls(told *jinja.Dict, c native.Conversation) error {
	own, err := wrapList(c.Messages)
	if err != nil {
		return fmt.Errorf("the messages: %w", err)
	}
	var calls []*jinja.Dict
	for _, m := range dicts(own, "list") {
		for _, call := range dicts(m, "tool_calls") {
			calls = append(calls, child(call, "function"))
		}
	}
	for _, m := range dicts(told, "messages") {
		for _, call := range dicts(m, "tool_calls") {
			f := child(call, "function")
			for len(calls) > 0 && text(calls[0], "name") != text(f, "name") {
				calls = calls[1:]
			}
			if len(calls) == 0 {
				return nil
			}
			arguments := text(calls[0], "arguments")
			calls = calls[1:]
			if v, _ := f.Get("arguments"); !isText(v) && hasLongInt([]byte(arguments)) {
				if v, err = jinja.FromJSON([]byte(arguments)); err != nil {
					return fmt.Errorf("the arguments of a call: %w", err)
				}
				f.Set("arguments", v)
			}
		}
	}
	return nil
}

func isText(v jinja.Value) bool {
	_, ok := v.(string)
	return ok
}

// wrapList makes a list of JSON the value of "list".
func wrapList(list []byte) (*jinja.Dict, error) {
	v, err := jinja.FromJSON(list)
	d := jinja.NewDict(1)
	d.Set("list", v)
	return d, err
}

// hasLongInt reports whether a text has a number that is too long for 64 bits, or about to be.
func hasLongInt(text []byte) bool {
	const most = 18 // digits
	run := 0
	for _, c := range text {
		if c < '0' || c > '9' {
			run = 0
		} else if run++; run > most {
			return true
		}
	}
	return false
}
