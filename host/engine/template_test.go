// SPDX-License-Identifier: MIT

package engine

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/tools/must"
)

// withTemplate opens the built-in model with one of llama.cpp's templates, or another.
func withTemplate(t testing.TB, source string) *Engine {
	t.Helper()
	if strings.HasSuffix(source, ".jinja") {
		found, err := filepath.Glob(filepath.Join("../../build/llama.cpp/source-*/models/templates", source))
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		text := must.Get(os.ReadFile(found[0]))(t)
		source = string(text)
	}
	return opened(t, Options{Slots: 1, ContextSize: 512, Template: TemplateOptions{Source: source}})
}

func tool(parameters string) chat.Tool {
	return chat.Tool{Name: "f", JSON: json.RawMessage(`{"type":"function","function":{"name":"f","parameters":` + parameters + `}}`)}
}

var hello = []chat.Message{{Role: "user", Content: "Hi"}}

// What a template cannot make of a conversation names the field, and what the template says its
// place.
func TestEngine_Render_Refusals(t *testing.T) {
	qwen := withTemplate(t, "Qwen-Qwen3-0.6B.jinja")
	strict := true
	begun := append(slices.Clip(hello), chat.Message{Role: "assistant", Content: "b"})
	deep := strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200)
	for _, c := range []struct {
		name        string
		e           *Engine
		in          chat.Conversation
		field, says string
	}{
		{"a template's own words", withTemplate(t, "\n\n  {{ raise_exception('no frogs') }}"), chat.Conversation{Messages: hello}, "messages", "line 3 of the template: no frogs"},
		{"a tool's schema", qwen, chat.Conversation{Messages: hello, Tools: []chat.Tool{tool(`{}`), {Name: "g", JSON: json.RawMessage(`{"type":"function","function":{"name":"g","parameters":{"type":"object","properties":{"a":{"type":"frog"}}}}}`), Field: "tools[4].input_schema", Strict: &strict}}}, "tools[4].input_schema", "frog"},
		{"a schema", qwen, chat.Conversation{Messages: hello, Format: chat.Format{JSONSchema: `{"type":"frog"}`}}, "json_schema", "frog"},
		{"deep arguments", qwen, chat.Conversation{Messages: hello, TemplateArgs: map[string]json.RawMessage{"x": json.RawMessage(deep)}}, "chat_template_kwargs.x", "deep"},
		{"many arguments", qwen, chat.Conversation{Messages: hello, TemplateArgs: map[string]json.RawMessage{"x": json.RawMessage(`"` + strings.Repeat("x", 300<<10) + `"`)}}, "chat_template_kwargs", "bytes"},
		{"tools for a template by name", withTemplate(t, "llama3"), chat.Conversation{Messages: hello, Tools: []chat.Tool{tool(`{}`)}}, "tools", "llama3"},
		{"a grammar of the rest beside tools", qwen, chat.Conversation{Messages: begun, Tools: []chat.Tool{tool(`{}`)}, Format: chat.Format{Grammar: "root ::= [a]"}}, "grammar", "goes on"},
		{"a regex of the rest beside tools", qwen, chat.Conversation{Messages: begun, Tools: []chat.Tool{tool(`{}`)}, Format: chat.Format{Regex: "a"}}, "regex", "goes on"},
		{"a lazy grammar beside tools", qwen, chat.Conversation{Messages: hello, Tools: []chat.Tool{tool(`{}`)}, Format: chat.Format{Grammar: "root ::= [a]", OwnBegin: true}}, "grammar", "tools"},
		{"a bad grammar beside tools", qwen, chat.Conversation{Messages: hello, Tools: []chat.Tool{tool(`{}`)}, Format: chat.Format{Grammar: "root ::= [a"}}, "grammar", "class"},
		{"a bad expression", qwen, chat.Conversation{Messages: hello, Format: chat.Format{Regex: "[a"}}, "regex", "at character"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := chat.Encoder{Model: c.e, Context: 512}.Conversation(t.Context(), c.in)
			var invalid *chat.Invalid
			if !errors.As(err, &invalid) || invalid.Field != c.field || !strings.Contains(invalid.Reason, c.says) {
				t.Errorf("got %v, want %s with %q", err, c.field, c.says)
			}
		})
	}
}

// A template that cannot be told lists of types is told alternatives, others are told what the
// tools say; calls fit the tools' own schemas.
func TestEngine_Render_TypeLists(t *testing.T) {
	const list = `{"type":"object","properties":{"at":{"type":["string","null"],"maxLength":5},"n":{"type":"integer"}},"required":["at"],"additionalProperties":false}`
	for template, told := range map[string]string{
		"NousResearch-Hermes-3-Llama-3.1-8B-tool_use.jinja": `"at": {"anyOf": [{"type": "string"}, {"type": "null"}], "maxLength": 5}, "n": {"type": "integer"}`,
		"Qwen-Qwen3-0.6B.jinja":                             `"at": {"type": ["string", "null"], "maxLength": 5}, "n": {"type": "integer"}`,
	} {
		e := withTemplate(t, template)
		p, err := e.Render(t.Context(), chat.Conversation{Messages: hello, Tools: []chat.Tool{tool(list)}, ToolChoice: chat.ToolChoice{Mode: "required"}})
		if err != nil {
			t.Errorf("%s: %v", template, err)
			continue
		}
		if !strings.Contains(p.Text, told) {
			t.Errorf("%s does not show %s:\n%s", template, told, p.Text)
		}
		if got := string(p.Rules.Tools[0].JSON); got != list {
			t.Errorf("%s: calls fit %s", template, got)
		}
	}
}

// Only an answer that can have parts has a parser.
func TestEngine_Render_Parser(t *testing.T) {
	for name, c := range map[string]struct {
		template string
		in       chat.Conversation
		text     string
		want     []chat.Delta // nil: no parser
	}{
		"text":                     {"meta-llama-Llama-3.1-8B-Instruct.jinja", chat.Conversation{Messages: hello}, "", nil},
		"a template by name":       {"llama3", chat.Conversation{Messages: hello}, "", nil},
		"tools":                    {"meta-llama-Llama-3.1-8B-Instruct.jinja", chat.Conversation{Messages: hello, Tools: []chat.Tool{tool(`{}`)}}, "Hi.", []chat.Delta{{Content: "Hi."}}},
		"a schema":                 {"meta-llama-Llama-3.1-8B-Instruct.jinja", chat.Conversation{Messages: hello, Format: chat.Format{JSONSchema: `{"type":"object"}`}}, "{}", []chat.Delta{{Content: "{}"}}},
		"reasoning":                {"Qwen-Qwen3-0.6B.jinja", chat.Conversation{Messages: hello}, "<think>\nHm.</think>\n\nHi.", []chat.Delta{{Reasoning: "Hm."}, {Content: "Hi."}}},
		"reasoning in the content": {"Qwen-Qwen3-0.6B.jinja", chat.Conversation{Messages: hello, ReasoningFormat: "none"}, "<think>Hm.</think>Hi.", []chat.Delta{{Content: "<think>Hm.</think>Hi."}}},
	} {
		t.Run(name, func(t *testing.T) {
			p := must.Get(withTemplate(t, c.template).Render(t.Context(), c.in))(t)
			if (p.HasParts) != (c.want != nil) {
				t.Fatal("with a parser:", p.HasParts)
			}
			if !p.HasParts {
				return
			}
			a := must.Get(p.NewSplitter())(t)
			defer a.Close()
			a.Add(c.text)
			got, err := a.End()
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// Where an empty message of the assistant ended a conversation, the template begins its turn as if
// that had never been there, and behind another message of the assistant too.
func TestEngine_Render_EmptyEnd(t *testing.T) {
	for _, template := range []string{"Qwen-Qwen3-0.6B.jinja", "meta-llama-Llama-3.1-8B-Instruct.jinja", "llama3", "chatml"} {
		e := withTemplate(t, template)
		want := must.Get(e.Render(t.Context(), chat.Conversation{Messages: hello}))(t)
		got, err := e.Render(t.Context(), chat.Conversation{Messages: append(hello[:1:1], chat.Message{Role: "assistant"})}.WithoutEmptyEnd())
		if err != nil || got.Text != want.Text {
			t.Errorf("%s: %v\n%s\nwant\n%s", template, err, got.Text, want.Text)
		}
		said := chat.Message{Role: "assistant", Content: "Hello."}
		got, err = e.Render(t.Context(), chat.Conversation{Messages: append(hello[:1:1], said, chat.Message{Role: "assistant"})}.WithoutEmptyEnd())
		if err != nil || !strings.HasPrefix(got.Text[strings.Index(got.Text, "Hello."):], "Hello.<|") {
			t.Errorf("%s: %v\n%s", template, err, got.Text)
		}
	}
}

// The place of a picture in a content stays in the prompt, without line breaks around it, whether
// the template takes texts or parts. (With a template that llama.cpp has as C++, such as llama3,
// there are some, as with llama-server.)
func TestEngine_Render_MediaMarker(t *testing.T) {
	for _, template := range []string{"Qwen-Qwen3-0.6B.jinja", "meta-llama-Llama-3.1-8B-Instruct.jinja", "chatml"} {
		parts := []string{"what", "is", media.Marker, "and", media.Marker, media.Marker}
		said := chat.Message{Role: "user", Content: media.Join(parts), Parts: parts}
		got, err := withTemplate(t, template).Render(t.Context(), chat.Conversation{Messages: []chat.Message{said}})
		want := "what\nis" + media.Marker + "and" + media.Marker + media.Marker
		if err != nil || !strings.Contains(got.Text, want) || said.Content != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", template, err, got.Text, want)
		}
	}
}

// The answer to a conversation fits its whole schema, within what the template has around it,
// whether llama.cpp can read the schema or not.
func TestEngine_Render_AnswerFitsTheSchema(t *testing.T) {
	e := opened(t, Options{})
	for name, c := range map[string]struct{ schema, says, want string }{
		"fits":              {`{"type":"object","properties":{"a":{"multipleOf":7,"type":"integer"}},"required":["a"],"additionalProperties":false}`, `{"a":21}`, `{"a":21}`},
		"does not fit":      {`{"type":"object","properties":{"a":{"enum":[21,28]},"b":{"not":{"type":"string"}}},"required":["a"],"not":{"required":["b"]},"additionalProperties":false}`, `{"a":21,"b":1}`, `{"a":21}`},
		"too long for GBNF": {`{"type":"object","properties":{"a":{"type":"string","maxLength":5000}},"required":["a"],"additionalProperties":false}`, `{"a":"x"}`, `{"a":"x"}`},
		"true as schema":    {`{"type":"object","properties":{"a":true},"required":["a"],"additionalProperties":false}`, `{"a":[1]}`, `{"a":[1]}`},
	} {
		prompt, err := e.Render(t.Context(), chat.Conversation{Messages: []chat.Message{{Role: "user", Content: "hi"}}, Format: chat.Format{JSONSchema: c.schema}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		p := greedily()
		p.Constraint = sampling.Constraint{Format: prompt.Rules}
		p.GenerationPrompt = prompt.GenerationPrompt
		if got := speak(t, e, wholeChain(t, e, p), c.says, 60); strings.Join(strings.Fields(got), "") != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	_, err := e.Render(t.Context(), chat.Conversation{Messages: []chat.Message{{Role: "user", Content: "hi"}}, Format: chat.Format{JSONSchema: `{"properties":{"a":{"type":"frog"}}}`}})
	var invalid *chat.Invalid
	if !errors.As(err, &invalid) || invalid.Field != "json_schema" || !strings.Contains(err.Error(), "#/properties/a/type") {
		t.Errorf("a bad schema: %v", err)
	}
}
