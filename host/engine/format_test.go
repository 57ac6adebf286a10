// SPDX-License-Identifier: MIT

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/grammar/peg"
	"github.com/penstock/penstock/host/grammar/schema"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// allowedBy reports how much of a text the grammar of a conversation allows, and whether it may
// end there.
func allowedBy(t *testing.T, e *Engine, c chat.Conversation, text string) (allowed string, complete bool) {
	t.Helper()
	c.Messages = hello
	p := must.Get(e.Render(t.Context(), c))(t)
	g := must.Get(e.ofFormat(t.Context(), p.Rules))(t)
	t.Cleanup(g.release)
	s := g.is.Start()
	if !p.Lazy {
		text = p.GenerationPrompt + text
	}
	for i := range len(text) {
		next, fits := must.Both(g.is.Advance(s, []byte(text[i:i+1])))(t)
		if !fits {
			return text[:i], false
		}
		s = next
	}
	return text, g.is.Complete(s)
}

// Where one call may come, there is none after it, whatever the template's format would read.
func TestEngine_Render_OneCall(t *testing.T) {
	for _, template := range []string{"Qwen-Qwen3-0.6B.jinja", "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use.jinja", "ibm-granite-granite-4.0.jinja"} {
		e := withTemplate(t, template)
		for _, mode := range []string{"auto", "required"} {
			const call = "<tool_call>\n{\"name\": \"g\", \"arguments\": {}}\n</tool_call>"
			for _, parallel := range []bool{false, true} {
				c := callingF(parallel, `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)
				c.ToolChoice.Mode = mode
				if _, complete := allowedBy(t, e, c, call); !complete {
					t.Errorf("%s, %s, parallel %v: a call is forbidden", template, mode, parallel)
				}
				if _, complete := allowedBy(t, e, c, call+"\n"+call); complete != parallel {
					t.Errorf("%s, %s, parallel %v: two calls are allowed: %v", template, mode, parallel, complete)
				}
			}
		}
	}
}

// An answer ends with the only call that may come, also where a plugin forces more tokens at once:
// those are too late.
func TestStage_OneCall_EndsTheAnswer(t *testing.T) {
	e := withTemplate(t, "Qwen-Qwen3-0.6B.jinja")
	const call = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"city\": \"Bonn\"}}\n</tool_call>"
	for _, mode := range []string{"auto", "required"} {
		for _, parallel := range []bool{false, true} {
			c := callingF(parallel, `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)
			c.ToolChoice.Mode = mode
			p := must.Get(e.Render(t.Context(), c))(t)
			params := greedily()
			params.Constraint = sampling.Constraint{Format: p.Rules, GrammarLazy: p.Lazy}
			params.GenerationPrompt = p.GenerationPrompt
			for _, trigger := range p.Triggers {
				if trigger.Kind != "word" {
					t.Fatalf("a trigger of the template is a %s", trigger.Kind)
				}
				params.GrammarTriggers = append(params.GrammarTriggers, sampling.Trigger{Kind: sampling.TriggerWord, Value: trigger.Value})
			}
			stages := must.Get(e.NewChain(params))(t)
			s := stages[0].(*Stage)
			t.Cleanup(func() { _ = s.Close() })
			tokens := must.Get(e.Tokenize(t.Context(), call+"\n"+call, false, true))(t)
			must.Do(t, s.Reset(p.Tokens, len(p.Tokens)))
			if n, err := s.Fits(tokens); n != len(tokens) || err != nil {
				t.Errorf("%s, parallel %v: %d of %d tokens may be forced, %v", mode, parallel, n, len(tokens), err)
			}
			text := ""
			for _, token := range tokens {
				effect, err := s.Accept(token)
				if text += e.model.SpecialPiece(token); err != nil {
					t.Fatal(mode, text, err)
				} else if effect.Stop {
					break
				}
			}
			if want := map[bool]string{false: call, true: call + "\n" + call}[parallel]; text != want {
				t.Errorf("%s, parallel %v: the answer ends after %q", mode, parallel, text)
			}
		}
	}
}

// What a schema says of a string holds where it is the text of a tag, too.
func TestEngine_Render_TextOfTags(t *testing.T) {
	const coder, glm = "Qwen3-Coder.jinja", "GLM-4.6.jinja"
	wrap := map[string]string{
		coder: "<tool_call>\n<function=f>\n<parameter=a>\n%s\n</parameter>\n</function>\n</tool_call>",
		glm:   "\n<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>%s</arg_value>\n</tool_call>",
	}
	engines := map[string]*Engine{coder: withTemplate(t, coder), glm: withTemplate(t, glm)}
	for name, c := range map[string]struct {
		schema, right, wrong string
		templates            []string
	}{
		"maxLength":  {`{"type":"string","maxLength":4096}`, strings.Repeat("é", 4096), strings.Repeat("é", 4097), []string{coder, glm}},
		"pattern":    {`{"type":"string","pattern":"^[0-9]{2}\"$"}`, `08"`, `08`, []string{coder, glm}},
		"enum":       {`{"type":"string","enum":["a","b c"]}`, `b c`, `"b c"`, []string{coder, glm}},
		"const":      {`{"const":"<x>"}`, `<x>`, `x`, []string{coder, glm}},
		"format":     {`{"type":"string","format":"date"}`, `2024-02-29`, `2023-02-29`, []string{coder, glm}},
		"reference":  {`{"$ref":"#/$defs/s"}`, `ab`, `abc`, []string{coder, glm}},
		"either":     {`{"anyOf":[{"type":"integer","minimum":5},{"type":"string","maxLength":2}]}`, `7`, `3`, []string{coder}},
		"not JSON":   {`{"anyOf":[{"type":"integer","minimum":5},{"type":"string","maxLength":2}]}`, `3x`, `3xy`, []string{coder}},
		"JSON alone": {`{"type":"array","items":{"type":"string","maxLength":1}}`, `["a"]`, `["ab"]`, []string{coder, glm}},
	} {
		for _, template := range c.templates {
			parameters := `{"type":"object","properties":{"a":` + c.schema + `},"required":["a"],"$defs":{"s":{"type":"string","maxLength":2}}}`
			conversation := chat.Conversation{Tools: []chat.Tool{tool(parameters)}, ToolChoice: chat.ToolChoice{Mode: "required"}, EnableThinking: new(bool)}
			for text, want := range map[string]bool{c.right: true, c.wrong: false} {
				if allowed, complete := allowedBy(t, engines[template], conversation, fmt.Sprintf(wrap[template], text)); complete != want {
					t.Errorf("%s, %s: %.20q is allowed: %v, up to %.300q", name, template, text, complete, allowed)
				}
			}
		}
	}
}

// A strict tool whose schema cannot be enforced is an error that names its field and place. Of one
// that does not say it is strict, what can be is.
func TestEngine_Render_Unenforceable(t *testing.T) {
	for _, template := range []string{"Qwen-Qwen3-0.6B.jinja", "Qwen3-Coder.jinja"} {
		e := withTemplate(t, template)
		with := func(strict *bool, parameters string) (chat.Prompt, error) {
			text := `{"type":"function","function":{"name":"f","description":"","parameters":` + parameters + `}}`
			return e.Render(t.Context(), chat.Conversation{Messages: hello, Tools: []chat.Tool{{Name: "f", Field: "tools[2].input", JSON: json.RawMessage(text), Strict: strict}}})
		}
		const unique = `{"type":"object","properties":{"a":{"type":"array","uniqueItems":true,"items":{"type":"object"}}}}`
		strict := true
		_, err := with(&strict, unique)
		var invalid *chat.Invalid
		if !errors.As(err, &invalid) || invalid.Field != "tools[2].input" || !strings.Contains(invalid.Reason, "#/properties/a") || !strings.Contains(invalid.Reason, `"strict": false`) {
			t.Errorf("%s: %v", template, err)
		}
		for _, loose := range []*bool{nil, new(bool)} {
			p, err := with(loose, unique)
			if err != nil {
				t.Errorf("%s: not strict: %v", template, err)
				continue
			}
			g, err := e.ofFormat(t.Context(), p.Rules)
			if err != nil || len(g.relaxed) != 1 || !strings.HasPrefix(g.relaxed[0].Pointer, "tools[2].input#/properties/a") {
				t.Errorf("%s: %+v, %v", template, g.relaxed, err)
			}
			g.release()
		}
		for _, schema := range []string{`{"type":"object","properties":{"v":false},"required":["v"]}`, `{"type":"object","properties":{"v":{"anyOf":[` + strings.TrimSuffix(many(300, `{"type":"object","properties":{"p%[1]d":{"type":"string"}},"required":["p%[1]d"]},`), ",") + `]}}}`} {
			p, err := with(nil, schema)
			if err != nil {
				t.Errorf("%s: %.80s: %v", template, schema, err)
				continue
			}
			if g, err := e.ofFormat(t.Context(), p.Rules); err != nil || len(g.relaxed) == 0 {
				t.Errorf("%s: %.80s: nothing is told, %v", template, schema, err)
			} else {
				g.release()
			}
			if _, err := with(&strict, schema); err == nil {
				t.Errorf("%s: %.80s is kept strictly", template, schema)
			}
		}
	}
}

// However many tools have a schema of which nothing can be enforced, a grammar costs a few times
// what it does without them, all of which is counted, and what is told of them stays short.
func TestEngine_OfFormat_ManyUnenforceable(t *testing.T) {
	const tools = 40
	e := withTemplate(t, "Qwen-Qwen3-0.6B.jinja")
	format := func(parameters string) *peg.Format {
		c := chat.Conversation{Messages: hello}
		for i := range tools {
			text := fmt.Sprintf(`{"type":"function","function":{"name":"f%d","description":"","parameters":%s}}`, i, parameters)
			c.Tools = append(c.Tools, chat.Tool{Name: fmt.Sprintf("f%d", i), Field: fmt.Sprintf("tools[%d]", i), JSON: json.RawMessage(text)})
		}
		p := must.Get(e.Render(t.Context(), c))(t)
		return p.Rules
	}
	right := format(`{"type":"object","properties":{"a":true},"required":["a"]}`)
	wrong := format(`{"type":"object","properties":{"a":false},"required":["a"]}`)
	var whole, loose *keptGrammar
	read := func(f *peg.Format, g **keptGrammar) func() {
		return func() {
			var err error
			if *g, err = e.ofFormat(t.Context(), f); err != nil { // without a salt nothing is kept
				t.Fatal(err)
			}
			(*g).release()
		}
	}
	once := steadytest.Cost(t, read(right, &whole))
	if took, ok := steadytest.Within(t, tools/4*once, read(wrong, &loose)); !ok {
		t.Errorf("%v, and %v with schemas that can be enforced", took, once)
	}
	if n := len(loose.relaxed); n != schema.MaxRelaxed+1 || loose.relaxed[n-1].More != tools-schema.MaxRelaxed {
		t.Errorf("%d places are told: %v", n, loose.relaxed)
	}
	without, _ := wrong.LoosenAll()
	if read(without, &whole)(); loose.work <= whole.work {
		t.Errorf("work %d, and %d without the schemas", loose.work, whole.work)
	}
}

// Hostile schemas of tools end with an answer or an error, and soon.
func TestEngine_Render_HostileTools(t *testing.T) {
	nested := func(n int) string {
		return strings.Repeat(`{"type":"object","properties":{"a":`, n) + `{}` + strings.Repeat(`}}`, n)
	}
	wide := func(n int) string {
		var names []string
		for i := range n {
			names = append(names, fmt.Sprintf(`"p%d":{"type":"string"}`, i))
		}
		return `{"type":"object","properties":{` + strings.Join(names, ",") + `}}`
	}
	engines := map[string]*Engine{}
	for _, template := range []string{"Qwen3-Coder.jinja", "GLM-4.6.jinja", "MiniMax-M3.jinja"} {
		engines[template] = withTemplate(t, template)
	}
	for name, c := range map[string]struct {
		schema  string
		refused bool
	}{
		"deep":                    {nested(40), false},
		"too deep":                {nested(300), true},
		"wide":                    {wide(500), false},
		"too wide":                {wide(4000), true},
		"itself":                  {`{"$ref":"#"}`, false},
		"circle":                  {`{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, false},
		"doubling":                {doubling(40), false},
		"doubling members":        {`{"$defs":{"a0":{"type":"object","properties":{"x":{"type":"string"}}}` + doublings(40) + `},"$ref":"#/$defs/a40"}`, false},
		"nothing to write":        {`{"type":"object","minProperties":1,"patternProperties":{"^a":{}}}`, true},
		"words that mean nothing": {`{"type":"object","properties":{"a":{"type":["frog",7],"enum":{},"anyOf":3,"$ref":[],"allOf":[5,null]}},"required":{"a":1}}`, true},
	} {
		strict := true
		for template, e := range engines {
			if name == "too wide" && template != "GLM-4.6.jinja" && !steadytest.Long() {
				continue // the others take seconds
			}
			_, err := e.Render(t.Context(), chat.Conversation{Messages: hello, Tools: []chat.Tool{{Name: "f", Field: "tools[0]", JSON: tool(c.schema).JSON, Strict: &strict}}})
			var invalid *chat.Invalid
			if err != nil && !errors.As(err, &invalid) || c.refused && err == nil {
				t.Errorf("%s, %s: %v", name, template, err)
			}
		}
	}
}

// many is a text for each number below n.
func many(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// What is wrong with the schema of an answer is not said of tools, of which there are none.
func TestEngine_Render_WideAnswer_IsNamed(t *testing.T) {
	e := withTemplate(t, "GLM-4.6.jinja")
	wide := `{"type":"object","required":[` + many(4000, `"p%d",`) + `"q"]}`
	_, err := e.Render(t.Context(), chat.Conversation{Messages: hello, Format: chat.Format{JSONSchema: wide}})
	var invalid *chat.Invalid
	if err != nil && (!errors.As(err, &invalid) || invalid.Field != "json_schema" || strings.Contains(err.Error(), "tool")) {
		t.Errorf("got %v", err)
	}
}

// doubling is a schema in which each part names the next twice.
func doubling(n int) string {
	return `{"type":"object","properties":{"a":{"$ref":"#/$defs/a` + fmt.Sprint(n) + `"}},"$defs":{"a0":{"type":"string"}` + doublings(n) + `}}`
}

func doublings(n int) string {
	var s strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&s, `,"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`, i, i-1, i-1)
	}
	return s.String()
}

// Whether an answer may stand in a fence is a matter of the template: it is asked once, whatever
// else a conversation has, and not with what a client tells it.
func TestEngine_TakesFence_AsksOnce(t *testing.T) {
	e := withTemplate(t, "Qwen-Qwen3-0.6B.jinja")
	n := native.Conversation{ReasoningFormat: "deepseek", AddGenerationPrompt: true}
	left, leave := context.WithCancel(t.Context())
	leave()
	if e.takesFence(left, n) {
		t.Error("what could not be asked is taken for a yes")
	}
	if !e.takesFence(t.Context(), n) {
		t.Error("an answer may not stand in a fence")
	}
	n.TemplateArgs = map[string]json.RawMessage{"x": json.RawMessage("1")}
	if !e.takesFence(left, n) {
		t.Error("it was asked again")
	}
}
