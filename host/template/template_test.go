// SPDX-License-Identifier: MIT

package template

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/host/jinja"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/tools/must"
)

// with is a template, or one of llama.cpp's by its file, of the built-in model.
func with(t testing.TB, source string) *Template {
	t.Helper()
	if strings.HasSuffix(source, ".jinja") {
		text := must.Get(os.ReadFile(filepath.Join(folder(t), source)))(t)
		source = string(text)
	}
	m := must.Get(native.LoadModel(t.Context(), "../model/penstock-tiny.gguf", native.ModelOptions{VocabOnly: true}))(t)
	tmpl := must.Get(New(m, source))(t)
	t.Cleanup(func() {
		if err := errors.Join(tmpl.Close(), m.Close()); err != nil {
			t.Error(err)
		}
	})
	return tmpl
}

func folder(t testing.TB) string {
	t.Helper()
	found, err := filepath.Glob("../../build/llama.cpp/source-*/models/templates")
	if err != nil || len(found) != 1 {
		t.Fatal("llama.cpp's source is not there: make build", found, err)
	}
	return found[0]
}

func prompt(t testing.TB, tmpl *Template, c native.Conversation) string {
	t.Helper()
	c.AddGenerationPrompt = true
	p := must.Get(tmpl.Render(t.Context(), c))(t)
	return p.Text
}

// Numbers reach a template as the client wrote them, and Python reads them: those of calls, of
// tools and of the template's own arguments.
func TestTemplate_Render_Numbers(t *testing.T) {
	const written = `{"a": 48.8583701, "b": 1234567.89, "c": 100000.5, "d": 0.1234567, "e": 1.0, "f": 18446744073709551615, "g": 123456789012345678901234, "h": -0.0, ` +
		`"i": 1e22, "j": 1795847674.125, "k": 9223372036854775807, "l": -90.123456789, "m": 1e-7, "n": 1E5, "o": [123456789012345678901234]}`
	const want = `{"a": 48.8583701, "b": 1234567.89, "c": 100000.5, "d": 0.1234567, "e": 1.0, "f": 18446744073709551615, "g": 123456789012345678901234, "h": -0.0, ` +
		`"i": 1e+22, "j": 1795847674.125, "k": 9223372036854775807, "l": -90.123456789, "m": 1e-07, "n": 100000.0, "o": [123456789012345678901234]}`
	arguments, _ := json.Marshal(written)
	call := func(arguments string) string {
		return `{"role":"assistant","content":"","tool_calls":[{"type":"function","function":{"name":"f","arguments":` + arguments + `}}]},{"role":"tool","content":"5"}`
	}
	c := native.Conversation{
		Messages:     json.RawMessage(`[{"role":"user","content":"Hi"},` + call(`"{}"`) + `,` + call(string(arguments)) + `]`),
		Tools:        json.RawMessage(`[{"type":"function","function":{"name":"f","description":"d","parameters":` + written + `}}]`),
		TemplateArgs: map[string]json.RawMessage{"extra": json.RawMessage(written)},
	}
	if got := prompt(t, with(t, `{{ extra|tojson if extra else '' }}{% for m in messages %}{{ m.content }}{% if m.tool_calls %}{% for c in m.tool_calls %}{{ '{' }}{% for k, v in c.function.arguments.items() %}{{ k|tojson }}: {{ v|tojson }}{{ '' if loop.last else ', ' }}{% endfor %}{{ '}' }}{% endfor %}{% endif %}{% endfor %}`), c); got != want+"Hi{}5"+want+"5" {
		t.Errorf("calls and arguments: %s", got)
	}
	for _, file := range []string{"Qwen-Qwen2.5-7B-Instruct.jinja", "deepseek-ai-DeepSeek-V3.1.jinja", "Kimi-K2-Instruct.jinja"} {
		got := prompt(t, with(t, file), c)
		if !strings.Contains(got, want) && !strings.Contains(got, written) { // a template may take the text
			t.Errorf("%s: %s", file, got)
		}
	}
}

// llama.cpp writes reasoning as a block for Devstral's template, which reads the first block as the
// text. The text stays.
func TestTemplate_Render_UnreadBlocks(t *testing.T) {
	c := native.Conversation{Messages: json.RawMessage(`[{"role":"user","content":"1+1?"},{"role":"assistant","content":"It is two.","reasoning_content":"One and one."},{"role":"user","content":"2+2?"}]`)}
	if got := prompt(t, with(t, "unsloth-mistral-Devstral-Small-2507.jinja"), c); !strings.Contains(got, "[INST]1+1?[/INST]It is two.") {
		t.Errorf("Devstral: %s", got)
	}
	if got := prompt(t, with(t, "mistralai-Ministral-3-14B-Reasoning-2512.jinja"), c); !strings.Contains(got, "[THINK]One and one.[/THINK]It is two.") {
		t.Errorf("Ministral, which has such blocks: %s", got)
	}
}

// A tool with an optional parameter is no reason to refuse a request.
func TestTemplate_Render_OptionalParameter(t *testing.T) {
	c := native.Conversation{Messages: json.RawMessage(`[{"role":"user","content":"x"}]`), Tools: json.RawMessage(
		`[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object","properties":{"q":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null},"r":{"type":["string","null"]}}}}}]`)}
	for _, file := range []string{"ByteDance-Seed-OSS.jinja", "NousResearch-Hermes-3-Llama-3.1-8B-tool_use.jinja"} {
		if got := prompt(t, with(t, file), c); !strings.Contains(got, "anyOf") && !strings.Contains(got, "q") {
			t.Errorf("%s: %s", file, got)
		}
	}
}

// A template that llama.cpp cannot read is served: its answers are text.
func TestNew_ForeignTemplate(t *testing.T) {
	tmpl := with(t, `{% with %}{% for m in messages %}{{ m.role|first }}:{{ m.content[::-1] }};{% for c in m.tool_calls %}{{ c.function.arguments }}{% endfor %}{% endfor %}{% endwith %}{% raw %}{{{% endraw %}`)
	if info := tmpl.Info(); !info.Foreign || !strings.Contains(info.Source, "with") {
		t.Fatalf("%+v", info)
	}
	c := native.Conversation{Messages: json.RawMessage(`[{"role":"user","content":"añb"},{"role":"assistant","content":"","tool_calls":[{"type":"function","function":{"name":"f","arguments":"{\"a\": 1.0}"}}]},{"role":"tool","content":"x"}]`),
		Tools: json.RawMessage(`[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]`)}
	if got := prompt(t, tmpl, c); got != "u:bña;a:;{'a': 1.0}t:x;{{" {
		t.Errorf("%q", got)
	}
}

func TestNew_Unreadable(t *testing.T) {
	m := must.Get(native.LoadModel(t.Context(), "../model/penstock-tiny.gguf", native.ModelOptions{VocabOnly: true}))(t)
	before := native.LiveObjects()
	if _, err := New(m, "a\n{% nonsense %}"); !errors.Is(err, native.ErrFailed) || !strings.Contains(err.Error(), "line 2 of the template: Encountered unknown tag 'nonsense'.") {
		t.Error(err)
	}
	if after := native.LiveObjects(); after != before {
		t.Errorf("%+v before, %+v after", before, after)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// What llama.cpp tells by several names is told here by the same.
func TestTemplate_Render_NamesOfReasoning(t *testing.T) {
	tmpl := with(t, `{{ messages[0].content }}{% for v in [preserve_thinking, clear_thinking, truncate_history_thinking, drop_thinking] %}{{ 1 if v is defined else 0 }}{{ 1 if v else 0 }}{% endfor %}`+
		`{{ reasoning_effort if reasoning_effort else '' }}{{ reasoning_strength if reasoning_strength else '' }}`)
	for _, args := range []map[string]json.RawMessage{
		nil, {"preserve_reasoning": json.RawMessage("true")}, {"preserve_reasoning": json.RawMessage("false")},
		{"preserve_reasoning": json.RawMessage("true"), "clear_thinking": json.RawMessage("true")},
		{"reasoning_effort": json.RawMessage(`"high"`)}, {"reasoning_effort": json.RawMessage(`"low"`), "reasoning_strength": json.RawMessage(`"x"`)},
	} {
		c := native.Conversation{Messages: json.RawMessage(`[{"role":"user","content":"x"}]`), TemplateArgs: args}
		theirs := must.Get(tmpl.llama.Render(t.Context(), c, nil))(t)
		ours, err := tmpl.Render(t.Context(), c)
		if err != nil || ours.Text != theirs.Text {
			t.Errorf("%s: %q, %v; llama.cpp's is %q", args, ours.Text, err, theirs.Text)
		}
	}
}

// Where llama.cpp's interpreter does as Python's, both make the same of a conversation, and what
// llama.cpp knows of the answer is the same too.
func TestTemplate_Render_AsLlama(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(folder(t), "*.jinja"))
	if err != nil || len(files) < 50 {
		t.Fatal(files, err)
	}
	plain := native.Conversation{Messages: json.RawMessage(`[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello."},{"role":"user","content":"And now?"}]`), AddGenerationPrompt: true}
	going := native.Conversation{Messages: json.RawMessage(`[{"role":"user","content":"Hi"},{"role":"assistant","content":"Hel"}]`), Continue: native.ContinueAuto, ReasoningFormat: "auto"}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			tmpl := with(t, filepath.Base(file))
			for _, c := range []native.Conversation{plain, going} {
				theirs := must.Get(tmpl.llama.Render(t.Context(), c, nil))(t)
				ours := must.Get(tmpl.Render(t.Context(), c))(t)
				if ours.Text != theirs.Text || ours.GenerationPrompt != theirs.GenerationPrompt || ours.Parser != theirs.Parser || ours.Grammar != theirs.Grammar {
					t.Errorf("%q\nllama.cpp: %q", ours.Text, theirs.Text)
				}
			}
		})
	}
}

// What Python refuses to a template is rendered leniently: firefunction's wants the functions by
// another name, and gpt-oss' adds what an enum has by default to a text, also a number or a list.
func TestTemplate_Render_PythonRefuses(t *testing.T) {
	c := native.Conversation{Messages: json.RawMessage(`[{"role":"user","content":"x"}]`), Tools: json.RawMessage(
		`[{"type":"function","function":{"name":"frogs","description":"d","parameters":{"type":"object","properties":{"q":{"type":"string"},"n":{"description":"d","type":"integer","enum":[1,12],"default":12},"b":{"description":"d","type":"boolean","enum":[true],"default":true},"l":{"type":"array","enum":["a"],"default":["a",{"b":null}]},"z":{"type":"string","enum":["a"],"default":null}}}}}]`)}
	for file, says := range map[string]string{
		"fireworks-ai-llama-3-firefunction-v2.jinja": `"name": "frogs"`, "llama-cpp-deepseek-r1.jinja": "frogs", "CohereForAI-c4ai-command-r-plus-tool_use.jinja": "frogs",
		"openai-gpt-oss-120b.jinja": "// default: 12,\n|// default: ['a', {'b': None}],\n|// default: ,\n",
	} {
		tmpl := with(t, file)
		got := prompt(t, tmpl, c)
		if slices.ContainsFunc(strings.Split(says, "|"), func(part string) bool { return !strings.Contains(got, part) }) {
			t.Errorf("%s: %s", file, got)
		}
		if got := prompt(t, tmpl, native.Conversation{Messages: c.Messages}); !strings.Contains(got, "x") {
			t.Errorf("%s, without tools: %s", file, got)
		}
	}
}

// That a template has to be rendered leniently is found once for all forms of a conversation.
func TestTemplate_RenderIn_WayIsKept(t *testing.T) {
	tmpl, runs := with(t, "{{ strftime_now('%Y') }}{{ none + messages[0].content }}"), 0
	tmpl.plain.Now = func() time.Time { runs++; return time.Now() }
	var w Way
	said := func(text string) native.Conversation {
		return native.Conversation{Messages: json.RawMessage(`[{"role":"user","content":"` + text + `"}]`)}
	}
	var took []int
	for _, text := range []string{"frog", "toad"} {
		runs = 0
		if p, err := tmpl.RenderIn(t.Context(), said(text), &w); err != nil || !strings.HasSuffix(p.Text, text) {
			t.Errorf("%q, %v", p.Text, err)
		}
		took = append(took, runs)
	}
	runs = 0
	if _, err := tmpl.Render(t.Context(), said("newt")); err != nil || took[0] != runs || took[1] != runs-1 {
		t.Errorf("%d runs after %v, %v", runs, took, err)
	}
}

// A template that Python refuses is rendered within the same bounds, by nothing that has none.
func TestTemplate_Render_Refused_IsBounded(t *testing.T) {
	for name, source := range hostile("{% if extra %}{{ none + 'a' }}", "{% endif %}") {
		c := native.Conversation{Messages: json.RawMessage(`[{"role":"user","content":"x"}]`)}
		tmpl := with(t, source)
		prompt(t, tmpl, c)
		c.TemplateArgs = map[string]json.RawMessage{"extra": json.RawMessage("1")}
		var complaint *jinja.Error
		if _, err := tmpl.Render(t.Context(), c); !errors.As(err, &complaint) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What llama.cpp finds out about a template is bounded too: tools are among what it tries.
func TestNew_HostileToLlama(t *testing.T) {
	m := must.Get(native.LoadModel(t.Context(), "../model/penstock-tiny.gguf", native.ModelOptions{VocabOnly: true}))(t)
	for name, source := range hostile("{% if tools %}", "{% endif %}") {
		if _, err := New(m, source); !errors.Is(err, native.ErrFailed) || !strings.Contains(err.Error(), "without end") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// hostile are templates that take too much within what stands before and after it.
func hostile(before, after string) map[string]string {
	all := map[string]string{
		"endless":   `{% for a in range(99999) %}{% for b in range(99999) %}{{ a * b }}{% endfor %}{% endfor %}`,
		"recursive": `{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}`,
		"large":     `{% set ns = namespace(a="0123456789") %}{% for i in range(40) %}{% set ns.a = ns.a + ns.a %}{% endfor %}`,
		"a list":    `{% set all = range(999999999)|list %}`,
	}
	for name, source := range all {
		all[name] = "{% for m in messages %}{{ m.role + m.content }}{% endfor %}" + before + source + after
	}
	return all
}

// A template's complaint is its own, with its line.
func TestTemplate_Render_Complaint(t *testing.T) {
	_, err := with(t, "{{ messages[0].content }}\n{{ raise_exception('no frogs') }}").Render(t.Context(), native.Conversation{Messages: json.RawMessage(`[{"role":"user","content":"x"}]`)})
	var complaint *jinja.Error
	if !errors.As(err, &complaint) || complaint.Line != 2 || complaint.Reason != "no frogs" {
		t.Error(err)
	}
}

// A template refuses by its complaint. What takes too long, and what llama.cpp makes nothing of, is
// no refusal; one that llama.cpp has code for has no other word.
func TestTemplate_Refuses(t *testing.T) {
	tmpl := with(t, "{% if messages|length > 1 %}{{ raise_exception('no') }}{% else %}{{ [1] + 1 }}{% endif %}")
	for _, messages := range []string{`[{"role":"user","content":"x"},{"role":"user","content":"x"}]`, `[{"role":"user","content":"x"}]`} {
		if _, err := tmpl.Render(t.Context(), native.Conversation{Messages: json.RawMessage(messages)}); err == nil || !tmpl.Refuses(err) {
			t.Error(err)
		}
	}
	failed := fmt.Errorf("render: %w: no parser of the tools", native.ErrFailed)
	if tmpl.Refuses(&jinja.Error{Kind: jinja.Bound}) || tmpl.Refuses(failed) || tmpl.Refuses(nil) {
		t.Error("what is no complaint is a refusal")
	}
	if !with(t, "llama3").Refuses(failed) {
		t.Error("one by name cannot refuse")
	}
}
