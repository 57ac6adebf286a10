// SPDX-License-Identifier: MIT

package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

const tools = `[{"type":"function","function":{"name":"get_weather","description":"The weather.","parameters":
	{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}]`

var conversations = map[string]Conversation{
	"one": {Messages: json.RawMessage(`[{"role":"user","content":"Hi"}]`), AddGenerationPrompt: true},
	"system": {Messages: json.RawMessage(`[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"},
		{"role":"assistant","content":"Hello."},{"role":"user","content":"Grüße 🐸"}]`), AddGenerationPrompt: true},
	"no generation prompt": {Messages: json.RawMessage(`[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello."}]`)},
	"tools": {Messages: json.RawMessage(`[{"role":"user","content":"Weather?"},
		{"role":"assistant","content":null,"tool_calls":[{"id":"call_12345","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Bonn\"}"}}]},
		{"role":"tool","tool_call_id":"call_12345","content":"rain"}]`), Tools: json.RawMessage(tools), AddGenerationPrompt: true},
	"a call": {Messages: json.RawMessage(`[{"role":"user","content":"Weather?"}]`), Tools: json.RawMessage(tools), ToolChoice: "required", ParallelToolCalls: true,
		AddGenerationPrompt: true, EnableThinking: true, ReasoningFormat: "auto"},
	"schema":     {Messages: json.RawMessage(`[{"role":"user","content":"Hi"}]`), JSONSchema: `{"type":"object","properties":{"a":{"type":"integer"}}}`, AddGenerationPrompt: true},
	"wrong role": {Messages: json.RawMessage(`[{"role":"","content":""},{"role":"assistant","content":"x"}]`), AddGenerationPrompt: true},
	"none":       {Messages: json.RawMessage(`[]`), AddGenerationPrompt: true},
}

// A template may refuse a conversation, but it must not take the process down, and each renders at
// least a plain one.
func TestTemplate_Render_LlamaTemplates(t *testing.T) {
	files := must.Get(filepath.Glob(filepath.Join(llamaSource(t), "models", "templates", "*.jinja")))(t)
	if len(files) < 50 {
		t.Fatalf("%d templates; llama.cpp's tree has about 70", len(files))
	}
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			source := must.Get(os.ReadFile(file))(t)
			tmpl := must.Get(NewTemplate(m, string(source)))(t)
			defer closing(t, tmpl)
			for name, c := range conversations {
				p, err := tmpl.Render(t.Context(), c, nil)
				if err == nil && name == "system" && !strings.Contains(p.Text, "Grüße 🐸") {
					t.Errorf("%s: the prompt lacks the user's text: %q", name, p.Text)
				}
				if err != nil && name == "one" {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

func TestTemplate_Render_BuiltInModel(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	tmpl := must.Get(NewTemplate(m, ""))(t)
	defer closing(t, tmpl)
	p := must.Get(tmpl.Render(t.Context(), conversations["one"], nil))(t)
	if want := "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"; p.Text != want {
		t.Errorf("got %q, want %q", p.Text, want)
	}
	p = must.Get(tmpl.Render(t.Context(), conversations["schema"], nil))(t)
	if p.Grammar == "" {
		t.Error("a schema gave no grammar")
	}
}

func TestNewTemplate_BadSource(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	for name, source := range map[string]string{
		"unclosed":        "{% for m in messages %}{{ m.content",
		"unknown":         "{% nonsense %}",
		"nested brackets": "{{ " + strings.Repeat("(", 100000) + "1" + strings.Repeat(")", 100000) + " }}",
		"nested lists":    "{{ " + strings.Repeat("[", 100000) + " }}",
		"unary":           "{{ " + strings.Repeat("-", 100000) + "1 }}",
		"nots":            "{{ " + strings.Repeat("not ", 20000) + "1 }}",
		"ifs":             strings.Repeat("{% if 1 %}", 12000) + strings.Repeat("{% endif %}", 12000),
		"ternaries":       "{{ " + strings.Repeat("1 if x else ", 5000) + "1 }}",
		"filters":         "{{ x" + strings.Repeat("|e", 5000) + " }}",
		"members":         "{{ x" + strings.Repeat(".a", 5000) + " }}",
		"sums":            "{{ 1" + strings.Repeat("+1", 5000) + " }}",
		"ors":             "{{ 1" + strings.Repeat(" or 1", 5000) + " }}",
		"tests":           "{{ 1" + strings.Repeat(" is x", 5000) + " }}",
		"calls":           "{{ x" + strings.Repeat("()", 5000) + " }}",
		"long":            strings.Repeat("x", 2<<20),
		"zero division":   "{{ 1 / 0 }}{{ 1 % 0 }}",
	} {
		t.Run(name, func(t *testing.T) {
			tmpl, err := NewTemplate(m, source)
			if err == nil {
				_, err = tmpl.Render(t.Context(), conversations["one"], nil)
				closing(t, tmpl)
			}
			if err != nil && !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrFailed) && !errors.Is(err, ErrNoMemory) {
				t.Errorf("an error of no kind: %v", err)
			}
		})
	}
}

func TestTemplate_Render_BadConversation(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	tmpl := must.Get(NewTemplate(m, ""))(t)
	defer closing(t, tmpl)
	deep := strings.Repeat(`{"type":"object","properties":{"a":`, 500) + "{}" + strings.Repeat("}}", 500)
	for name, c := range map[string]Conversation{
		"not an array":  {Messages: json.RawMessage(`{}`)},
		"no messages":   {},
		"not JSON":      {Messages: json.RawMessage(`[`)},
		"no role":       {Messages: json.RawMessage(`[{"content":"x"}]`)},
		"wrong content": {Messages: json.RawMessage(`[{"role":"user","content":7}]`)},
		"wrong tools":   {Messages: json.RawMessage(`[{"role":"user","content":"x"}]`), Tools: json.RawMessage(`[{}]`)},
		"tools no list": {Messages: json.RawMessage(`[{"role":"user","content":"x"}]`), Tools: json.RawMessage(`{"not":"a list"}`)},
		"wrong choice":  {Messages: json.RawMessage(`[{"role":"user","content":"x"}]`), ToolChoice: "maybe"},
		"wrong schema":  {Messages: json.RawMessage(`[{"role":"user","content":"x"}]`), JSONSchema: "{"},
		"deep schema":   {Messages: json.RawMessage(`[{"role":"user","content":"x"}]`), JSONSchema: deep},
		"deep tools":    {Messages: json.RawMessage(`[{"role":"user","content":"x"}]`), Tools: json.RawMessage("[" + deep + "]")},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := tmpl.Render(t.Context(), c, nil); !errors.Is(err, ErrFailed) && !errors.Is(err, ErrInvalid) {
				t.Errorf("got %v, want an error", err)
			}
		})
	}
}

// leaving is a context that is done as soon as it was asked, and was not when it was asked.
type leaving struct {
	context.Context
	leave func()
	left  atomic.Bool
}

func (c *leaving) Err() error {
	if c.left.Swap(true) {
		return c.Context.Err()
	}
	c.leave()
	return nil
}

// TestTemplate_Render_GivenUp: a template that takes for ever ends when nobody waits for its
// prompt, and not with the template's complaint.
func TestTemplate_Render_GivenUp(t *testing.T) {
	const endless = `{% if messages %}{% for a in range(100000) %}{% for b in range(100000) %}{% for c in range(100000) %}{{ a }}{% endfor %}{% endfor %}{% endfor %}{% endif %}`
	tmpl := must.Get(NewTemplate(loadBuiltIn(t, ModelOptions{VocabOnly: true}), `{% set long = messages[0].content == "long" %}{% if long %}`+endless+`{% endif %}{{ messages[0].content }}`))(t)
	defer closing(t, tmpl)
	long := Conversation{Messages: json.RawMessage(`[{"role":"user","content":"long"}]`)}
	ctx, leave := context.WithCancelCause(t.Context())
	gone := errors.New("the client has gone")
	if _, err := tmpl.Render(&leaving{Context: ctx, leave: func() { leave(gone) }}, long, nil); !errors.Is(err, gone) {
		t.Errorf("got %v, want its cause", err)
	}
	if _, err := tmpl.Render(ctx, conversations["one"], nil); !errors.Is(err, gone) {
		t.Errorf("before it begins: got %v, want its cause", err)
	}
	if p, err := tmpl.Render(t.Context(), conversations["one"], nil); err != nil || p.Text != "Hi" {
		t.Errorf("after it: %q, %v", p.Text, err)
	}
}

// templateFile is the source of one of the templates in llama.cpp's tree.
func templateFile(t testing.TB, name string) string {
	t.Helper()
	source := must.Get(os.ReadFile(filepath.Join(llamaSource(t), "models", "templates", name)))(t)
	return string(source)
}

func newTemplate(t testing.TB, source string) *Template {
	t.Helper()
	tmpl := must.Get(NewTemplate(loadBuiltIn(t, ModelOptions{VocabOnly: true}), source))(t)
	t.Cleanup(func() { closing(t, tmpl) })
	return tmpl
}

// calling is a conversation in which the assistant has called a tool with such arguments, and the
// tool has answered.
func calling(t testing.TB, arguments, answer string) Conversation {
	t.Helper()
	type object map[string]any
	messages := must.Get(json.Marshal([]object{{"role": "user", "content": "Weather?"},
		{"role": "assistant", "content": "", "tool_calls": []object{{"id": "call_12345", "type": "function", "function": object{"name": "get_weather", "arguments": arguments}}}},
		{"role": "tool", "tool_call_id": "call_12345", "name": "get_weather", "content": answer}}))(t)
	return Conversation{Messages: messages, Tools: json.RawMessage(tools), AddGenerationPrompt: true}
}

// manyKeys is an object of n keys.
func manyKeys(n int) string {
	text := []byte{'{'}
	for i := range n {
		text = append(strconv.AppendInt(append(text, `"k`...), int64(i), 10), `":0,`...)
	}
	return string(append(text[:len(text)-1], '}'))
}

// excessive are texts of JSON that llama.cpp overflowed the stack with, or took the square of.
func excessive() map[string]string {
	return map[string]string{
		"deep lists":   strings.Repeat("[", 500_000) + strings.Repeat("]", 500_000),
		"deep objects": strings.Repeat(`{"a":`, 500_000) + "0" + strings.Repeat("}", 500_000),
		"keys":         manyKeys(100_000),
		"values":       "[" + strings.Repeat("0,", 1_000_000) + "0]",
		"many objects": "[" + strings.Repeat(manyKeys(2000)+",", 100) + "0]",
	}
}

// TestTemplate_Render_ExcessiveArguments: a template that wants the arguments of calls as objects
// has llama.cpp parse them, so they have the bounds of all JSON. One that takes them as text still
// gets them, whatever they are.
func TestTemplate_Render_ExcessiveArguments(t *testing.T) {
	object := newTemplate(t, templateFile(t, "Qwen-Qwen2.5-7B-Instruct.jinja"))
	text := newTemplate(t, `{% for m in messages %}{% for c in m.tool_calls or [] %}{{ 'call: ' + c.function.arguments }}{% endfor %}{{ m.content }}{% endfor %}`)
	for name, arguments := range excessive() {
		var bad *BadField
		if _, err := object.Render(t.Context(), calling(t, arguments, "rain"), nil); !errors.As(err, &bad) || bad.Field != "messages[1].tool_calls[0].function.arguments" {
			t.Errorf("%s: got %.200v, want it to name the arguments", name, err)
		}
		p, err := text.Render(t.Context(), calling(t, arguments, "rain"), nil)
		if err != nil || !strings.Contains(p.Text, arguments[:1000]) {
			t.Errorf("%s: a template that takes text: %.200v", name, err)
		}
	}
	for name, arguments := range map[string]string{"keys": manyKeys(5000), "nesting": strings.Repeat(`[`, 90) + strings.Repeat(`]`, 90), "text": `{"a":"` + strings.Repeat("[", 1<<20) + `"}`} {
		if p, err := object.Render(t.Context(), calling(t, arguments, "rain"), nil); err != nil || len(p.Text) < len(arguments) {
			t.Errorf("%s: %.200v", name, err)
		}
	}
}

// TestTemplate_Render_ExcessiveAnswerOfTool: for the first templates of Gemma 4 llama.cpp parses
// also what tools answer. If that is no JSON it is text, and so is what exceeds the bounds.
func TestTemplate_Render_ExcessiveAnswerOfTool(t *testing.T) {
	gemma := newTemplate(t, strings.ReplaceAll(templateFile(t, "google-gemma-4-31B-it.jinja"), "{#- OpenAI Chat Completions:", "{#-"))
	if p, err := gemma.Render(t.Context(), calling(t, "{}", `{"sky": "grey"}`), nil); err != nil || !strings.Contains(p.Text, "{sky:") {
		t.Errorf("an answer in JSON: %q, %v; want an object", p.Text, err)
	}
	for name, answer := range excessive() {
		if p, err := gemma.Render(t.Context(), calling(t, "{}", answer), nil); err != nil || !strings.Contains(p.Text, answer[:1000]) {
			t.Errorf("%s: %.200v", name, err)
		}
	}
}

// TestNewAnswerParser_ManyTools: the parser of answers that llama.cpp writes for many tools is
// longer than what a client may send.
func TestNewAnswerParser_ManyTools(t *testing.T) {
	var list []string
	for i := range 100 {
		var names []string
		for k := range 30 {
			names = append(names, fmt.Sprintf("a%db%d", i, k)) // so that no rule is called like that of another tool
		}
		parameters := `{"type":"object","properties":{"` + strings.Join(names, `":{"type":"string"},"`) + `":{"type":"string"}},"required":["` + strings.Join(names, `","`) + `"]}`
		list = append(list, fmt.Sprintf(`{"type":"function","function":{"name":"tool_%d","parameters":%s}}`, i, parameters))
	}
	c := calling(t, "{}", "rain")
	c.Tools = json.RawMessage("[" + strings.Join(list, ",") + "]")
	p := must.Get(newTemplate(t, templateFile(t, "tencent-Hy3.jinja")).Render(t.Context(), c, nil))(t)
	if checkJSON("it", p.Parser) == nil {
		t.Errorf("a parser of %d bytes is within the bounds of what clients send, so it shows nothing", len(p.Parser))
	}
	a := must.Get(NewAnswerParser(AnswerFormat{Format: p.Format, Parser: p.Parser}))(t)
	closing(t, a)
}

// TestTemplate_Render_TooMuch: what a request passes to a template besides messages is bounded too.
func TestTemplate_Render_TooMuch(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	template := must.Get(NewTemplate(m, ""))(t)
	defer closing(t, template)
	hello := json.RawMessage(`[{"role":"user","content":"hi"}]`)
	many := map[string]json.RawMessage{}
	for i := range maxArgs + 1 {
		many[strconv.Itoa(i)] = json.RawMessage("1")
	}
	for name, c := range map[string]Conversation{
		"values": {Messages: hello, TemplateArgs: many},
		"keys":   {Messages: hello, TemplateArgs: map[string]json.RawMessage{"a": json.RawMessage(manyKeys(6_000))}},
		"bytes":  {Messages: hello, TemplateArgs: map[string]json.RawMessage{"a": json.RawMessage(`"` + strings.Repeat("a", 300<<10) + `"`)}},
	} {
		if _, err := template.Render(t.Context(), c, nil); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: got %v, want ErrInvalid", name, err)
		}
	}
}
