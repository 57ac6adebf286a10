// SPDX-License-Identifier: MIT

package template

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/penstock/penstock/host/jinja"
	"github.com/penstock/penstock/native"
)

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
		own, err := wrapped(c.Tools)
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
	own, err := wrapped(c.Messages)
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

// wrapped is a list of JSON as the value of "list".
func wrapped(list []byte) (*jinja.Dict, error) {
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
