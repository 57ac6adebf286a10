// SPDX-License-Identifier: MIT

package engine

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/lark"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// patches is a grammar of texts with lines, quotes and markup, as that of Codex's apply_patch.
const patches = `start: begin file+ end
begin: "*** Begin Patch" LF
end: "*** End Patch" LF?
file: "*** Update File: " /(.+)/ LF line+
line: ("+" | "-" | " ") /[a"<\\é&]{0,9}/ LF
%import common.LF
`

func customTool(t testing.TB, format string) chat.Tool {
	t.Helper()
	raw := must.Get(json.Marshal(map[string]any{"type": "custom", "name": "patch", "description": "Edits files", "format": json.RawMessage(format)}))(t)
	tools, _ := must.Both(chat.ParseTools([]json.RawMessage{raw}, true))(t)
	return tools[0]
}

func larkFormat(definition string) string {
	quoted, _ := json.Marshal(definition)
	return `{"type":"grammar","syntax":"lark","definition":` + string(quoted) + `}`
}

// Whatever a template's grammar allows is a call of a custom tool whose text fits the tool's
// grammar, with each of llama.cpp's templates.
func TestEngine_Render_CustomTool(t *testing.T) {
	b := grammar.NewBuilder()
	root := must.Get(lark.Add(b, patches, lark.Options{}))(t)
	is := must.Get(b.Build(root))(t)
	r := steadytest.Rand(t)
	called, enforced := 0, 0
	eachTemplate(t, func(t *testing.T, e *Engine, name string) {
		p, err := e.Render(t.Context(), chat.Conversation{Messages: hello, ToolChoice: chat.ToolChoice{Mode: "required"}, EnableThinking: new(bool),
			Tools: []chat.Tool{customTool(t, larkFormat(patches))}})
		if err != nil {
			if name != unrendered {
				t.Fatal(err)
			}
			return
		}
		if p.Rules == nil {
			return // it knows no tools
		}
		g := must.Get(e.ofFormat(t.Context(), p.Rules))(t)
		t.Cleanup(g.release)
		if len(g.relaxed) > 0 {
			if len(g.relaxed) > 1 || g.relaxed[0].Pointer != "tools[0].format.definition#" {
				t.Errorf("not enforced: %v", g.relaxed)
			}
			return
		}
		enforced++
		answers, all := wandered(t, r, e, p, 4)
		for i, a := range answers {
			switch {
			case len(a.calls) == 0 && a.reasoning != "": // which the model has not ended
				continue
			case len(a.calls) == 0 || a.calls[0].name != "patch":
				t.Errorf("%+v of %q", a, all[i])
				continue
			}
			called++
			input := a.calls[0].arguments
			s, ok, err := is.Advance(is.Start(), []byte(input))
			if err != nil || !ok || !is.Complete(s) {
				t.Errorf("%q does not fit, of %q", input, all[i])
			}
		}
	})
	if called == 0 || enforced == 0 {
		t.Errorf("%d calls with %d templates", called, enforced)
	}
}

// A grammar that cannot be read is told and not enforced; a regular expression is enforced.
func TestEngine_Render_CustomTool_Formats(t *testing.T) {
	e := withTemplate(t, "Qwen-Qwen3-0.6B.jinja")
	call := func(input string) string {
		quoted, _ := json.Marshal(input)
		return "<tool_call>\n{\"name\": \"patch\", \"arguments\": {\"input\": " + string(quoted) + "}}\n</tool_call>"
	}
	for _, c := range []struct {
		format, fits, not, relaxed string
	}{
		{`null`, "any\n\"text\"", "", ""},
		{`{"type":"text"}`, "any\n\"text\"", "", ""},
		{`{"type":"grammar","syntax":"regex","definition":"[a-z]+\n?"}`, "abc\n", "ABC", ""},
		{larkFormat("start: \"x\\n\" start | \"\\\"y\\\"\""), "x\nx\n\"y\"", "xy", ""},
		{larkFormat("%llguidance {}\nstart: A\nA: /a/"), "a", "b", ""},
		{larkFormat("start: /a(?=b)/"), "any", "", "line 1: /a(?=b)/ is not supported"},
		{larkFormat("start: <think>"), "any", "", "has no tokens"},
		{larkFormat("start: %json {}"), "any", "", "%json is not supported in the input of a tool"},
		{`{"type":"grammar","syntax":"regex","definition":"("}`, "any", "", "missing closing )"},
	} {
		p, err := e.Render(t.Context(), chat.Conversation{Messages: hello, ToolChoice: chat.ToolChoice{Mode: "required"}, EnableThinking: new(bool), Tools: []chat.Tool{customTool(t, c.format)}})
		if err != nil {
			t.Errorf("%s: %v", c.format, err)
			continue
		}
		g, err := e.ofFormat(t.Context(), p.Rules)
		if err != nil {
			t.Errorf("%s: %v", c.format, err)
			continue
		}
		t.Cleanup(g.release)
		told := ""
		for _, r := range g.relaxed {
			told += r.Pointer + ": " + r.Why
		}
		if (told == "") != (c.relaxed == "") || !strings.Contains(told, c.relaxed) || told != "" && !strings.HasPrefix(told, "tools[0].format.definition") {
			t.Errorf("%s: told %q, want %q", c.format, told, c.relaxed)
		}
		if !fits(t, e, p, call(c.fits)) || c.not != "" && fits(t, e, p, call(c.not)) {
			t.Errorf("%s: %q fits: %v", c.format, c.fits, fits(t, e, p, call(c.fits)))
		}
		if a := parseAnswer(t, p, call(c.fits)); len(a.calls) != 1 || a.calls[0].arguments != c.fits {
			t.Errorf("%s: %+v", c.format, a)
		}
	}
}
