// SPDX-License-Identifier: MIT

package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
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

// whole is an answer's parts, added up.
type whole struct {
	Reasoning, Content string
	Calls              []wholeCall
}

type wholeCall struct{ ID, Name, Arguments string }

func (w *whole) add(t testing.TB, parts []AnswerPart) {
	t.Helper()
	for _, p := range parts {
		w.Reasoning += p.Reasoning
		w.Content += p.Content
		if p.Call == nil {
			continue
		}
		if *p.Call == len(w.Calls) {
			w.Calls = append(w.Calls, wholeCall{})
		}
		at := &w.Calls[*p.Call]
		if at.Name != "" && p.Name != "" && at.Name != p.Name {
			t.Errorf("call %d changes its name from %q to %q", *p.Call, at.Name, p.Name)
		}
		if p.Name != "" {
			at.ID, at.Name = p.ID, p.Name
		}
		at.Arguments += p.Arguments
	}
}

const twoTools = `[{"type":"function","function":{"name":"get_weather","description":"The weather.","parameters":
	{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}}},
	{"type":"function","function":{"name":"get_time","parameters":{"type":"object","properties":{}}}}]`

var bonn = wholeCall{Name: "get_weather", Arguments: `{"city": "Bonn"}`}

// formats are answers in the formats of the main families of models, as their templates have them.
var formats = []struct {
	template, name, text string
	want                 whole
}{
	{"Qwen-Qwen3-0.6B", "content", "Hello, <b>you</b>.", whole{Content: "Hello, <b>you</b>."}},
	{"Qwen-Qwen3-0.6B", "reasoning", "<think>\nHm.\n</think>\n\nHello.", whole{Reasoning: "Hm.\n", Content: "Hello."}},
	{"Qwen-Qwen3-0.6B", "calls", "<think>\nHm.\n</think>\n\nLet me see.<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Bonn\"}}\n</tool_call>\n" +
		"<tool_call>\n{\"name\": \"get_time\", \"arguments\": {}}\n</tool_call>",
		whole{Reasoning: "Hm.\n", Content: "Let me see.", Calls: []wholeCall{bonn, {Name: "get_time", Arguments: "{}"}}}},
	{"NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use", "call", "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Bonn\"}}\n</tool_call>", whole{Calls: []wholeCall{bonn}}},
	{"Qwen3-Coder", "call", "Yes.\n<tool_call>\n<function=get_weather>\n<parameter=city>\nBonn \"am Rhein\"\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>",
		whole{Content: "Yes.\n", Calls: []wholeCall{{Name: "get_weather", Arguments: `{"city":"Bonn \"am Rhein\"","days":3}`}}}},
	{"meta-llama-Llama-3.1-8B-Instruct", "content", "Hello.", whole{Content: "Hello."}},
	{"meta-llama-Llama-3.1-8B-Instruct", "call", `{"name": "get_weather", "parameters": {"city": "Bonn"}}`, whole{Calls: []wholeCall{bonn}}},
	{"mistralai-Mistral-Nemo-Instruct-2407", "call", `[TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "Bonn"}, "id": "123456789"}]`,
		whole{Calls: []wholeCall{{ID: "123456789", Name: "get_weather", Arguments: `{"city": "Bonn"}`}}}},
	{"mistralai-Ministral-3-14B-Reasoning-2512", "call", `[THINK]Hm.[/THINK][TOOL_CALLS]get_weather[ARGS]{"city": "Bonn"}`, whole{Reasoning: "Hm.", Calls: []wholeCall{bonn}}},
	{"deepseek-ai-DeepSeek-R1-Distill-Llama-8B", "reasoning", "Hm, 6 < 7.\n</think>\n\n42", whole{Reasoning: "\nHm, 6 < 7.\n", Content: "\n\n42"}},
	{"deepseek-ai-DeepSeek-V3.1", "call", "Hm.</think><｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{\"city\": \"Bonn\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>", whole{Reasoning: "Hm.", Calls: []wholeCall{bonn}}},
	{"openai-gpt-oss-120b", "reasoning", "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hello.", whole{Reasoning: "Hm.", Content: "Hello."}},
	{"openai-gpt-oss-120b", "call", "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{\"city\": \"Bonn\"}",
		whole{Reasoning: "Hm.", Calls: []wholeCall{bonn}}},
	{"CohereForAI-c4ai-command-r7b-12-2024-tool_use", "call", "<|START_THINKING|>Hm.<|END_THINKING|><|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"get_weather\", \"parameters\": {\"city\": \"Bonn\"}}\n]<|END_ACTION|>",
		whole{Reasoning: "Hm.", Calls: []wholeCall{{ID: "0", Name: "get_weather", Arguments: `{"city": "Bonn"}`}}}},
	{"CohereForAI-c4ai-command-r7b-12-2024-tool_use", "content", "<|START_THINKING|>Hm.<|END_THINKING|><|START_RESPONSE|>Hello.<|END_RESPONSE|>", whole{Reasoning: "Hm.", Content: "Hello."}},
	{"meetkai-functionary-medium-v3.2", "content", "all\nLet me see.", whole{Content: "Let me see."}},
	{"meetkai-functionary-medium-v3.2", "call", "get_weather\n{\"city\": \"Bonn\"}", whole{Calls: []wholeCall{bonn}}},
	{"meetkai-functionary-medium-v3.1", "call", `<function=get_weather>{"city": "Bonn"}</function>`, whole{Calls: []wholeCall{bonn}}},
	{"google-gemma-2-2b-it", "a template without tools", "Hello, {you}.", whole{Content: "Hello, {you}."}},
}

// formatOf renders a conversation with tools in a template of llama.cpp's.
func formatOf(t testing.TB, m *Model, template string) AnswerFormat {
	t.Helper()
	source := must.Get(os.ReadFile(filepath.Join(llamaSource(t), "models", "templates", template+".jinja")))(t)
	tmpl := must.Get(NewTemplate(m, string(source)))(t)
	defer closing(t, tmpl)
	p := must.Get(tmpl.Render(t.Context(), Conversation{Messages: json.RawMessage(`[{"role":"user","content":"Hi"}]`), Tools: json.RawMessage(twoTools), ParallelToolCalls: true,
		AddGenerationPrompt: true, EnableThinking: true, ReasoningFormat: "auto"}, nil))(t)
	return AnswerFormat{Format: p.Format, Parser: p.Parser, GenerationPrompt: p.GenerationPrompt, ReasoningFormat: "auto"}
}

func newAnswer(t testing.TB, f AnswerFormat) *AnswerParser {
	t.Helper()
	return must.Get(NewAnswerParser(f))(t)
}

func TestAnswerParser_Add_Formats(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	for _, c := range formats {
		t.Run(c.template+"/"+c.name, func(t *testing.T) {
			format := formatOf(t, m, c.template)
			a := newAnswer(t, format)
			defer closing(t, a)
			parts := must.Get(a.Add(c.text, true))(t)
			var got whole
			got.add(t, parts)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("the whole (-want +got):\n%s", diff)
			}
			for seed := range uint64(20) {
				if diff := cmp.Diff(got, inPieces(t, format, c.text, seed)); diff != "" {
					t.Fatalf("pieces of seed %d (-whole +pieces):\n%s", seed, diff)
				}
			}
		})
	}
}

// inPieces adds a text piece by piece.
func inPieces(t testing.TB, f AnswerFormat, text string, seed uint64) (w whole) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	a := newAnswer(t, f)
	defer closing(t, a)
	for text != "" {
		n := min(1+random.IntN(12), len(text))
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}
		parts := must.Get(a.Add(text[:n], n == len(text)))(t)
		w.add(t, parts)
		text = text[n:]
	}
	return w
}

// What breaks its format is an error at its end and not before, and one that nests without end is
// one at once.
func TestAnswerParser_Add_BrokenFormat(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	a := newAnswer(t, formatOf(t, m, "Qwen-Qwen3-0.6B"))
	defer closing(t, a)
	if parts, err := a.Add("Well.<tool_call>\n{\"name\": \"unknown\"", false); err != nil {
		t.Errorf("%v %v", parts, err)
	}
	if _, err := a.Add("}", true); !errors.Is(err, ErrFailed) {
		t.Errorf("got %v, want ErrFailed", err)
	}
	contradicted := newAnswer(t, formatOf(t, m, "Qwen3-Coder"))
	defer closing(t, contradicted)
	if parts, err := contradicted.Add("<function=get_time>\n</function>\n", false); err != nil || len(parts) == 0 || parts[0].Name != "get_time" {
		t.Errorf("%+v %v", parts, err)
	}
	if _, err := contradicted.Add("It is late.", true); !errors.Is(err, ErrFailed) {
		t.Errorf("got %v, want ErrFailed: the text behind the call is neither content nor part of the call", err)
	}
	deep := newAnswer(t, formatOf(t, m, "meta-llama-Llama-3.1-8B-Instruct"))
	defer closing(t, deep)
	if _, err := deep.Add(`{"name": "get_weather", "parameters": {"city": `+strings.Repeat("[", 9000), true); err != nil {
		t.Error(err)
	}
	if _, err := deep.Add(strings.Repeat("{", 1100), false); !errors.Is(err, ErrFailed) {
		t.Errorf("got %v, want ErrFailed", err)
	}
}

func TestNewAnswerParser_BadFormat(t *testing.T) {
	for _, f := range []AnswerFormat{{}, {Format: "nonsense"}, {Format: "peg-native", Parser: "{"}, {Format: "peg-native", Parser: "{}"},
		{Format: "peg-native", ReasoningFormat: "nonsense"}} {
		if a, err := NewAnswerParser(f); err == nil {
			t.Errorf("%+v is taken", f)
			closing(t, a)
		}
	}
}

// A long answer is parsed again and again: that must not take long.
func TestAnswerParser_Add_LongAnswer(t *testing.T) {
	m := loadBuiltIn(t, ModelOptions{VocabOnly: true})
	a := newAnswer(t, formatOf(t, m, "Qwen-Qwen3-0.6B"))
	defer closing(t, a)
	const tokens = 10_000
	var w whole
	begin, slowest := time.Now(), time.Duration(0)
	for i := range tokens / 100 {
		text := strings.Repeat("Hm, ", 100)
		if i == 0 {
			text = "<think>\n" + text
		}
		if i == tokens/200 {
			text = "\n</think>\n\n" + text
		}
		before := time.Now()
		parts := must.Get(a.Add(text, i == tokens/100-1))(t)
		slowest = max(slowest, time.Since(before))
		w.add(t, parts)
	}
	t.Logf("%d parses of up to %d KB took %v, the slowest %v", tokens/100, tokens*4/1000, time.Since(begin), slowest)
	if len(w.Reasoning) != tokens*2+1 || len(w.Content) != tokens*2 {
		t.Errorf("%d bytes of reasoning, %d of content", len(w.Reasoning), len(w.Content))
	}
}

// FuzzAnswer_Add gives any text to the parsers of all main formats: what it comes to does not
// depend on where it is cut. What was told cannot be taken back, so an answer fails, too, whose
// end contradicts its beginning.
func FuzzAnswer_Add(f *testing.F) {
	m := loadBuiltIn(f, ModelOptions{VocabOnly: true})
	known := map[string]AnswerFormat{}
	for i, c := range formats {
		if _, ok := known[c.template]; !ok {
			known[c.template] = formatOf(f, m, c.template)
		}
		f.Add(byte(i), c.text, uint16(len(c.text)/2))
	}
	f.Fuzz(func(t *testing.T, which byte, text string, cut uint16) {
		if !utf8.ValidString(text) {
			return // an answer shows whole characters
		}
		at := int(cut) % (len(text) + 1)
		for at < len(text) && !utf8.RuneStart(text[at]) {
			at++
		}
		format := known[formats[int(which)%len(formats)].template]
		whole, failed := takenApart(t, format, text)
		pieces, failedToo := takenApart(t, format, text[:at], text[at:])
		if failedToo != nil {
			return
		}
		if diff := cmp.Diff(whole, pieces); failed != nil || diff != "" {
			t.Errorf("at once: %v (-at once +cut at %d)\n%s", failed, at, diff)
		}
	})
}

// takenApart adds the pieces of an answer, and is what they come to, or a failure.
func takenApart(t *testing.T, f AnswerFormat, pieces ...string) (w whole, err error) {
	t.Helper()
	a := newAnswer(t, f)
	defer closing(t, a)
	for i, piece := range pieces {
		parts, err := a.Add(piece, i == len(pieces)-1)
		if err != nil && !errors.Is(err, ErrFailed) {
			t.Error(err)
		}
		if err != nil {
			return w, err
		}
		w.add(t, parts)
	}
	return w, nil
}
