// SPDX-License-Identifier: MIT

package engine

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// okSchema is the format of the answers in these tests.
const okSchema = `{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"],"additionalProperties":false}`

// parsed is an answer as llama.cpp's parser of a prompt's answers takes it apart.
type parsed struct {
	content, reasoning string
	calls              []call
}

func parseAnswer(t *testing.T, p chat.Prompt, text string) (a parsed) {
	t.Helper()
	if !p.HasParts {
		return parsed{content: text}
	}
	s := must.Get(p.NewSplitter())(t)
	defer s.Close()
	s.Add(text)
	deltas := must.Get(s.End())(t)
	for _, d := range deltas {
		a.content += d.Content
		a.reasoning += d.Reasoning
		if d.Call != nil && d.Call.Index == len(a.calls) {
			a.calls = append(a.calls, call{})
		}
		if d.Call != nil {
			a.calls[d.Call.Index].name += d.Call.Name
			a.calls[d.Call.Index].arguments += d.Call.Arguments
		}
	}
	return a
}

// wandered are random answers that a prompt's rules allow.
func wandered(t *testing.T, r *rand.Rand, e *Engine, p chat.Prompt, n int) (all []parsed, texts []string) {
	t.Helper()
	g, start := grammarOf(t, e, p)
	for range n {
		text := wander(t, r, g, start, r.IntN(80))
		for _, stop := range p.Stops {
			text, _, _ = strings.Cut(text, stop)
		}
		all, texts = append(all, parseAnswer(t, p, text)), append(texts, text)
	}
	return all, texts
}

// Beside a format of the answer, an answer is calls that fit their schema or a text in the format,
// with each of llama.cpp's templates.
func TestEngine_Render_FormatBesideTools(t *testing.T) {
	r := steadytest.Rand(t)
	calls, texts := 0, 0
	eachTemplate(t, func(t *testing.T, e *Engine, name string) {
		for _, format := range []string{"auto", "none"} {
			c := callingF(true, `{"type":"object","properties":{"city":{"type":"string","maxLength":5}},"required":["city"],"additionalProperties":false}`)
			c.ToolChoice.Mode, c.JSONSchema, c.ReasoningFormat = "auto", okSchema, format
			p, err := e.Render(t.Context(), c)
			if err != nil {
				if name != unrendered {
					t.Fatal(err)
				}
				return
			}
			if p.Rules == nil || p.Lazy {
				t.Fatalf("rules %v, lazy %v", p.Rules, p.Lazy)
			}
			if p.Rules.Texts == "" {
				return // it knows no tools
			}
			answers, all := wandered(t, r, e, p, 12)
			for i, a := range answers {
				content := a.content
				if format == "none" {
					content = content[strings.LastIndexAny(content, ">]|\n")+1:] // behind the marks of reasoning
				}
				var is map[string]bool
				switch {
				case strings.HasPrefix(name, "google-gemma-4"): // its values are a notation of their own
				case len(a.calls) > 0 && strings.TrimSpace(content) == "":
					calls++
				case len(a.calls) == 0 && json.Unmarshal([]byte(a.content), &is) == nil && len(is) == 1:
					texts++
				case a.content == "" && a.reasoning != "" || format == "none":
					// the reasoning has not ended, or is told as content
				default:
					t.Errorf("%s: neither a call nor a text in the format: %+v of %q", format, a, all[i])
				}
			}
		}
	})
	if calls < 10 || texts < 10 {
		t.Errorf("%d calls and %d texts", calls, texts)
	}
}

// An answer in a format beside tools may have around it what it may have without them, and the
// client is shown as much of it.
func TestEngine_Render_FormatBesideTools_AsWithout(t *testing.T) {
	fenced := 0
	for _, template := range []string{"Qwen-Qwen3-0.6B.jinja", "Qwen3.5-4B.jinja", "openai-gpt-oss-120b.jinja", "meta-llama-Llama-3.1-8B-Instruct.jinja", "GLM-4.6.jinja"} {
		e := withTemplate(t, template)
		c := callingF(true, `{"type":"object"}`)
		c.ToolChoice.Mode, c.JSONSchema = "auto", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`
		beside := must.Get(e.Render(t.Context(), c))(t)
		c.ToolChoice.Mode = "none"
		without := must.Get(e.Render(t.Context(), c))(t)
		if beside.Rules == nil || beside.Rules.Texts == "" || without.Rules == nil {
			t.Fatalf("%s: %+v, %+v", template, beside.Rules, without.Rules)
		}
		for _, text := range []string{"```json\n{\"a\": \"b\"}\n```", "```json{\"a\":\"```\\\"`\"}```", " ```json\n{\"a\":\"\"}```", "```\n{\"a\":\"\"}\n```", "```json\n{\"a\":\"\"}", "\n\n  {\"a\": \"`c\\\\`\"}", "{\"a\":\"b ``` \"}"} {
			if may := fits(t, e, beside, text); may != fits(t, e, without, text) && (!may || strings.Contains(text, "```j")) {
				t.Errorf("%s: %q is allowed beside tools: %v", template, text, may)
			} else if fits(t, e, without, text) {
				got, want := parseAnswer(t, beside, text), parseAnswer(t, without, text)
				if got.content != want.content || len(got.calls) > 0 {
					t.Errorf("%s: %q: got %+v, without tools %+v", template, text, got, want)
				}
				if strings.HasPrefix(text, "```") {
					fenced++
				}
			}
		}
	}
	if fenced < 4 {
		t.Errorf("%d answers in a fence", fenced)
	}
}

// fits reports whether a text may be a whole answer to a prompt.
func fits(t *testing.T, e *Engine, p chat.Prompt, text string) bool {
	t.Helper()
	g, start := grammarOf(t, e, p)
	s, ok := must.Both(g.Advance(start, []byte(text)))(t)
	return ok && g.Complete(s)
}

// A call that must come has no text before it.
func TestEngine_Render_RequiredCall_NoText(t *testing.T) {
	r := steadytest.Rand(t)
	eachTemplate(t, func(t *testing.T, e *Engine, name string) {
		p, err := e.Render(t.Context(), callingF(false, `{"type":"object","properties":{"city":{"type":"string","maxLength":5}},"required":["city"],"additionalProperties":false}`))
		if err != nil || p.Rules == nil {
			return
		}
		answers, all := wandered(t, r, e, p, 6)
		for i, a := range answers {
			if strings.TrimSpace(a.content) != "" || len(a.calls) == 0 && a.reasoning == "" {
				t.Errorf("%+v of %q", a, all[i])
			}
		}
	})
}

// A grammar or a regular expression begins with the content, also where the model has reasoned, or
// where the prompt has begun that. One that has a template's marks is all of the answer.
func TestEngine_Render_GrammarOfContent(t *testing.T) {
	r := steadytest.Rand(t)
	const own = "root ::= \"<think>ab</think>yes\""
	for _, of := range []struct{ template, reasons, own string }{
		{"Qwen-Qwen3-0.6B.jinja", "<think>\nHm.\n</think>\n\nyes", own},
		{"Qwen3.5-4B.jinja", "Hm.\n</think>\n\nyes", ""},
		{"openai-gpt-oss-120b.jinja", "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>yes", `root ::= "<|channel|>final<|message|>" [a-z]+`},
	} {
		e := withTemplate(t, of.template)
		for _, c := range []chat.Conversation{{Format: chat.Format{Grammar: `root ::= "yes" | "no"`}}, {Format: chat.Format{Grammar: `%llguidance {} start: "yes" | "no"`}},
			{Format: chat.Format{Regex: "yes|no"}}, {Format: chat.Format{Regex: "yes|no"}, ReasoningFormat: "none"}} {
			c.Messages = hello
			p := must.Get(e.Render(t.Context(), c))(t)
			if p.Rules == nil {
				t.Fatal(of.template, "has no rules")
			}
			answers, all := wandered(t, r, e, p, 5)
			for i, a := range answers {
				if a.content != "yes" && a.content != "no" && c.ReasoningFormat == "" {
					t.Errorf("%s: %+v of %q", of.template, a, all[i])
				}
			}
			if allowed, complete := allowedBy(t, e, c, of.reasons); !complete {
				t.Errorf("%s: allowed up to %q", of.template, allowed)
			}
		}
		if of.own != "" {
			if p, err := e.Render(t.Context(), chat.Conversation{Messages: hello, Format: chat.Format{Grammar: of.own}}); err != nil || p.Rules != nil {
				t.Errorf("%s: %v, %v of a grammar with marks", of.template, p.Rules, err)
			}
		}
	}
}

// What must be called is called once, unless the client says that there may be several calls.
func TestEngine_Render_RequiredCall_Once(t *testing.T) {
	e := withTemplate(t, "Qwen-Qwen3-0.6B.jinja")
	many := true
	for _, parallel := range []*bool{nil, &many} {
		c := callingF(false, `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)
		c.ParallelToolCalls = parallel
		const call = "<tool_call>\n{\"name\": \"g\", \"arguments\": {}}\n</tool_call>"
		if _, complete := allowedBy(t, e, c, call+"\n"+call); complete != (parallel != nil) {
			t.Errorf("parallel %v: two calls are allowed: %v", parallel != nil, complete)
		}
	}
}
