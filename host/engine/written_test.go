// SPDX-License-Identifier: MIT

package engine

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// callWritten is what a template writes where an assistant has called f, with what follows the
// call; false where the template does not say.
func callWritten(t *testing.T, e *Engine, c chat.Conversation, arguments string) (string, bool) {
	t.Helper()
	history := `[{"role":"user","content":"Hi"},{"role":"assistant","content":"","tool_calls":[{"id":"call00001","type":"function","function":{"name":"f","arguments":` + quoted(arguments) + `}}]},{"role":"tool","tool_call_id":"call00001","name":"f","content":"done"}]`
	var raw []json.RawMessage
	must.Do(t, json.Unmarshal([]byte(history), &raw))
	said, _ := must.Both(chat.ParseMessages(raw))(t)
	p, err := e.Render(t.Context(), c)
	if err != nil {
		return "", false
	}
	past := c
	past.Messages, past.AddGenerationPrompt = said, new(bool)
	whole, err := e.Render(t.Context(), past)
	if err != nil {
		return "", false
	}
	return strings.CutPrefix(whole.Text, strings.TrimSuffix(p.Text, p.GenerationPrompt))
}

func quoted(text string) string {
	quoted, _ := json.Marshal(text)
	return string(quoted)
}

// otherwise are templates whose text of a call is not what llama.cpp's parser reads: the prompt
// begins reasoning, which the text does not end; lists are Python's; or there is no call at all.
var otherwise = []string{"Apriel-1.6", "unsloth-Apriel-1.5", "MiniMax-M2", "NVIDIA-Nemotron-Nano-v2", "llama-cpp-deepseek-r1",
	"ByteDance-Seed-OSS", "LFM2", "openbmb-MiniCPM5"}

// A call that fits its schema is allowed as the template itself writes it, and llama.cpp's parser
// reads it back.
func TestEngine_Render_WhatTemplatesWriteIsAllowed(t *testing.T) {
	const schema = `{"type":"object","required":["text","count"],"properties":{"text":{"type":"string","maxLength":20},"count":{"type":"integer"},
		"color":{"type":"string","enum":["red","dark green"]},"list":{"type":"array","items":{"type":"boolean"}},
		"nested":{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"string"}},"required":["a"]}}}`
	read := 0
	eachTemplate(t, func(t *testing.T, e *Engine, name string) {
		if slices.ContainsFunc(otherwise, func(of string) bool { return strings.HasPrefix(name, of) }) {
			return
		}
		c := callingF(true, schema)
		p, err := e.Render(t.Context(), c)
		if err != nil || p.Rules == nil {
			return
		}
		for _, arguments := range []string{`{"text": "ab c", "count": 3}`, `{"text": "<b> \"q\"", "count": -12, "color": "dark green"}`, `{"text": "x", "count": 0, "list": [true, false], "nested": {"a": 1.5, "b": "y"}}`} {
			text, ok := callWritten(t, e, c, arguments)
			if !ok {
				continue
			}
			if calls := readBack(t, e, p, text); len(calls) != 1 || !sameJSON(calls[0].arguments, arguments) {
				t.Errorf("%s became %v, of %.400q", arguments, calls, text)
				continue
			}
			read++
		}
	})
	if read < steadytest.InLongTest(120, 1) {
		t.Errorf("only %d calls were looked at", read)
	}
}

// What llama.cpp's parser of a template does not read, though the model has learned to write it, is
// allowed and read: required arguments in another order than the schema's, and an id between a
// tool's name and the mark before its arguments.
func TestEngine_Render_WhatLlamaCppDoesNotRead(t *testing.T) {
	const schema = `{"type":"object","required":["text","count"],"properties":{"text":{"type":"string"},"count":{"type":"integer"},"flag":{"type":"boolean"}}}`
	for template, all := range map[string][]string{
		"GLM-4.6":                             {`{"count": 3, "text": "ab c"}`, `{"flag": true, "count": 3, "text": "x"}`, `{"text": "x", "flag": false, "count": 0}`},
		"Qwen3.5-4B":                          {`{"count": 3, "text": "ab c"}`},
		"Mistral-Small-3.2-24B-Instruct-2506": {`{"text": "ab c", "count": 3}`},
	} {
		t.Run(template, func(t *testing.T) {
			e := withTemplate(t, template+".jinja")
			c := callingF(true, schema)
			p := must.Get(e.Render(t.Context(), c))(t)
			for _, arguments := range all {
				text := mustWrite(t, e, c, arguments)
				if calls := readBack(t, e, p, text); len(calls) != 1 || !sameJSON(calls[0].arguments, arguments) {
					t.Errorf("%s became %v, of %.400q", arguments, calls, text)
				}
			}
			if calls := readBack(t, e, p, strings.ReplaceAll(mustWrite(t, e, c, `{"count": 3, "text": "x"}`), "count", "text")); len(calls) > 0 {
				t.Errorf("an argument comes twice, and one that is required not at all: %v", calls)
			}
		})
	}
}

func mustWrite(t *testing.T, e *Engine, c chat.Conversation, arguments string) string {
	t.Helper()
	text, ok := callWritten(t, e, c, arguments)
	if !ok {
		t.Fatal("the template writes no call")
	}
	return text
}

// readBack is the calls of the longest answer that a format allows at the beginning of a text, or
// where that has no call, further on: what begins a turn may not be what ends a prompt.
func readBack(t *testing.T, e *Engine, p chat.Prompt, text string) []call {
	t.Helper()
	g := must.Get(e.ofFormat(t.Context(), p.Rules))(t)
	t.Cleanup(g.release)
	start, _ := must.Both(g.is.Advance(g.is.Start(), []byte(p.GenerationPrompt)))(t)
	for from := range len(text) {
		s, end := start, -1
		for at := from; at < len(text); at++ {
			next, fits := must.Both(g.is.Advance(s, []byte(text[at:at+1])))(t)
			if !fits {
				break
			}
			if s = next; g.is.Complete(s) {
				end = at + 1
			}
		}
		if end < 0 {
			continue
		}
		if calls, _, err := callsOf(t, p, text[from:end]); err == nil && len(calls) > 0 {
			return calls
		}
	}
	return nil
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && cmp.Equal(x, y)
}
