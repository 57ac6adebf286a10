// SPDX-License-Identifier: MIT

package engine

import (
	"strings"
	"testing"

	"github.com/penstock/penstock/host/chat"
)

// A template that cannot be told lists of types is told alternatives, others are told what the tools say; calls fit the tools' own schemas.
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

// Only lists of types are written otherwise.
func TestWithoutTypeLists(t *testing.T) {
	for in, want := range map[string]string{
		`[{"a":{"type":["number","string"],"enum":[1.50,"x"]}}]`:   `[{"a":{"anyOf":[{"type":"number"},{"type":"string"}],"enum":[1.50,"x"]}}]`,
		`[{"properties":{"type":{"type":["string"]}},"type":[1]}]`: `[{"properties":{"type":{"anyOf":[{"type":"string"}]}},"type":[1]}]`,
		`[["type",["x"]],{"enum":["type",["y"]]}]`:                 `[["type",["x"]],{"enum":["type",["y"]]}]`,
	} {
		got, err := withoutTypeLists([]byte(in))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s %v, want %s", in, got, err, want)
		}
	}
}
