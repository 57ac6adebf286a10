// SPDX-License-Identifier: MIT

package native

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// templateFile is the source of one of the templates in llama.cpp's tree.
func templateFile(t testing.TB, name string) string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(llamaSource(t), "models", "templates", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(source)
}

func newTemplate(t testing.TB, source string) *Template {
	t.Helper()
	tmpl, err := NewTemplate(loadBuiltIn(t, ModelOptions{VocabOnly: true}), source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closing(t, tmpl) })
	return tmpl
}

// calling is a conversation in which the assistant has called a tool with such arguments, and the
// tool has answered.
func calling(t testing.TB, arguments, answer string) Conversation {
	t.Helper()
	type object map[string]any
	messages, err := json.Marshal([]object{{"role": "user", "content": "Weather?"},
		{"role": "assistant", "content": "", "tool_calls": []object{{"id": "call_12345", "type": "function", "function": object{"name": "get_weather", "arguments": arguments}}}},
		{"role": "tool", "tool_call_id": "call_12345", "name": "get_weather", "content": answer}})
	if err != nil {
		t.Fatal(err)
	}
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
	p, err := newTemplate(t, templateFile(t, "tencent-Hy3.jinja")).Render(t.Context(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	if checkJSON("it", p.Parser) == nil {
		t.Errorf("a parser of %d bytes is within the bounds of what clients send, so it shows nothing", len(p.Parser))
	}
	a, err := NewAnswerParser(AnswerFormat{Format: p.Format, Parser: p.Parser})
	if err != nil {
		t.Fatal(err)
	}
	closing(t, a)
}

// TestTemplate_Render_TooMuch: what a request passes to a template besides messages is bounded too.
func TestTemplate_Render_TooMuch(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	template, err := NewTemplate(m, "")
	if err != nil {
		t.Fatal(err)
	}
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
