// SPDX-License-Identifier: MIT

package chat

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

func split(t testing.TB, body string) []json.RawMessage {
	t.Helper()
	var raw []json.RawMessage
	must.Do(t, json.Unmarshal([]byte(body), &raw))
	return raw
}

// Refusals and reasoning among the parts of what the assistant has said, and calls without a type.
func TestParseMessages_AssistantParts(t *testing.T) {
	got, _, err := ParseMessages(split(t, `[
		{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"refusal","refusal":"no"}]},
		{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"a"}],"tool_calls":[{"id":"1","function":{"name":"f","arguments":"{}"}}]}]`))
	want := []Message{
		{Role: "assistant", Content: "no", Parts: []string{"no"}, Reasoning: "hm"},
		{Role: "assistant", Content: "a", Parts: []string{"a"}, Reasoning: "hm", ToolCalls: []ToolCall{NewToolCall("1", "f", "{}")}},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestParseMessages_Shapes(t *testing.T) {
	got, _ := must.Both(ParseMessages(split(t, `[
		{"role":"system","content":"be kind"},
		{"role":"user","name":"ann","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
		{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"1","content":""}]`)))(t)
	call := ToolCall{ID: "1", Type: "function"}
	call.Function.Name, call.Function.Arguments = "f", "{}"
	want := []Message{
		{Role: "system", Content: "be kind"},
		{Role: "user", Name: "ann", Content: "a\nb", Parts: []string{"a", "b"}},
		{Role: "assistant", ToolCalls: []ToolCall{call}},
		{Role: "tool", ToolCallID: "1"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseMessages_Wrong(t *testing.T) {
	for body, field := range map[string]string{
		`[]`:                              "messages",
		`[null]`:                          "messages[0]",
		`[3]`:                             "messages[0]",
		`[{"role":5,"content":"x"}]`:      "messages[0].role",
		`[{"content":"x"}]`:               "messages[0].role",
		`[{"role":"king","content":""}]`:  "messages[0].role",
		`[{"role":"user"}]`:               "messages[0].content",
		`[{"role":"user","content":7}]`:   "messages[0].content",
		`[{"role":"user","content":[7]}]`: "messages[0].content[0]",
		`[{"role":"user","content":"x"},{"role":"user","content":[{"type":"image_url"}]}]`: "messages[1].content[0].image_url",
		`[{"role":"user","content":[{"type":"text"}]}]`:                                    "messages[0].content[0]",
	} {
		_, _, err := ParseMessages(split(t, body))
		var invalid *Invalid
		if !errors.As(err, &invalid) || invalid.Field != field || invalid.Reason == "" {
			t.Errorf("%s: got %v, want field %s", body, err, field)
		}
	}
}

// TestParseMessages_WholeCharacters: a long value is cut between characters.
func TestParseMessages_WholeCharacters(t *testing.T) {
	for i := range 4 {
		_, _, err := ParseMessages(split(t, `[{"role":"`+strings.Repeat("x", i)+strings.Repeat("🐸", 100)+`","content":"x"}]`))
		if err == nil || strings.Contains(err.Error(), `\x`) || !utf8.ValidString(err.Error()) {
			t.Errorf("%d letters before: %v", i, err)
		}
	}
}

// Answers come back as servers gave them: with reasoning by other names, or as parts, with a
// refusal in the place of a content, or with nothing at all.
func TestParseMessages_Answers(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want Message
	}{
		"reasoning":                   {`"content":"a","reasoning":"r"`, Message{Content: "a", Reasoning: "r"}},
		"both names":                  {`"content":"a","reasoning":"x","reasoning_content":"r"`, Message{Content: "a", Reasoning: "r"}},
		"reasoning of another kind":   {`"content":"a","reasoning":{"effort":"low"},"refusal":null`, Message{Content: "a"}},
		"no content, empty calls":     {`"content":null,"tool_calls":[]`, Message{}},
		"no content":                  {``, Message{}},
		"refusal":                     {`"content":null,"refusal":"No."`, Message{Content: "No."}},
		"part refusal":                {`"content":[{"type":"refusal","refusal":"No."}]`, Message{Content: "No.", Parts: []string{"No."}}},
		"part thinking, Anthropic's":  {`"content":[{"type":"thinking","thinking":"r","signature":"s"},{"type":"redacted_thinking","data":"d"},{"type":"text","text":"a"}]`, Message{Content: "a", Parts: []string{"a"}, Reasoning: "r"}},
		"part thinking, Mistral's":    {`"content":[{"type":"thinking","thinking":[{"type":"text","text":"r"},{"type":"text","text":"s"}]},{"type":"text","text":"a"}]`, Message{Content: "a", Parts: []string{"a"}, Reasoning: "rs"}},
		"part reasoning, and no more": {`"content":[{"type":"reasoning","text":"r"}]`, Message{Reasoning: "r"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.want.Role = "assistant"
			comma := ","
			if c.in == "" {
				comma = ""
			}
			got, _ := must.Both(ParseMessages([]json.RawMessage{json.RawMessage(`{"role":"assistant"` + comma + c.in + `}`)}))(t)
			if d := cmp.Diff([]Message{c.want}, got); d != "" {
				t.Error(d)
			}
		})
	}
	for name, in := range map[string]string{
		"a user's thinking": `{"role":"user","content":[{"type":"thinking","thinking":"r"}]}`,
		"a user's null":     `{"role":"user","content":null}`,
		"a result's null":   `{"role":"tool","content":null}`,
	} {
		if _, _, err := ParseMessages([]json.RawMessage{json.RawMessage(in)}); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// What an answer has thought in many parts takes no longer than as many texts.
func TestParseMessages_ManyThoughts(t *testing.T) {
	const n = 5000
	long := strings.Repeat("x", 1<<20)
	parse := func(part string) func() {
		body := split(t, `[{"role":"assistant","content":[`+strings.Replace(part, `"x"`, `"`+long+`"`, 1)+strings.Repeat(`,`+part, n)+`]}]`)
		return func() {
			if _, _, err := ParseMessages(body); err != nil {
				t.Fatal(err)
			}
		}
	}
	texts := steadytest.Cost(t, parse(`{"type":"refusal","refusal":"x"}`))
	for _, part := range []string{`{"type":"reasoning","text":"x"}`, `{"type":"thinking","thinking":"x"}`, `{"type":"thinking","thinking":[{"text":"x"}]}`} {
		if took, ok := steadytest.Within(t, 10*texts, parse(part)); !ok {
			t.Errorf("%s: %v, texts take %v", part, took, texts)
		}
	}
}

// inBrackets takes what stands in brackets for reasoning, and capitals for calls.
type inBrackets struct{ thinking bool }

func (b *inBrackets) Add(text string, _ bool) (deltas []Delta, _ error) {
	for _, c := range text {
		switch s := string(c); {
		case c == '(' || c == ')':
			b.thinking = c == '('
		case b.thinking:
			deltas = append(deltas, Delta{Reasoning: s})
		case c >= 'A' && c <= 'Z':
			deltas = append(deltas, Delta{Call: &CallDelta{ID: "id", Name: s}})
		default:
			deltas = append(deltas, Delta{Content: s})
		}
	}
	return deltas, nil
}

func (*inBrackets) Cut() ([]Delta, error) { return nil, nil }
func (*inBrackets) Close() error          { return nil }

// Before its first token, and where all were taken back, an answer is in the part that the prompt
// has opened.
func TestPartTeller_Part_BeginsWithWhatThePromptOpened(t *testing.T) {
	for opened, want := range map[bool]abi.Part{false: abi.PartContent, true: abi.PartReasoning} {
		p := must.Get(Prompt{HasParts: true, NewParser: func() (Parser, error) { return &inBrackets{thinking: opened}, nil }}.NewPartTeller())(t)
		for _, step := range []struct {
			text string
			want abi.Part
		}{{"", want}, {"a", want}, {")a", abi.PartContent}, {"", want}, {"(a", abi.PartReasoning}, {"F", map[bool]abi.Part{false: abi.PartToolCall, true: abi.PartReasoning}[opened]}} {
			if got := p.Part(step.text); got != step.want {
				t.Errorf("opened %v, after %q: %v, want %v", opened, step.text, got, step.want)
			}
		}
		p.Close()
	}
}
