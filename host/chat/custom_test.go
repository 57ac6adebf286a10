// SPDX-License-Identifier: MIT

package chat

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/host/grammar/peg"
)

// The shapes of chats and of responses are the same tool.
func TestParseTools_Custom(t *testing.T) {
	tools, leftOut, err := ParseTools(split(t, `[
		{"type":"custom","name":"patch","description":"Edits <files>","format":{"type":"grammar","syntax":"lark","definition":"start: \"<a>\""}},
		{"type":"custom","custom":{"name":"patch","description":"Edits <files>","format":{"type":"grammar","grammar":{"syntax":"lark","definition":"start: \"<a>\""}}}},
		{"type":"custom","name":"date","format":{"type":"grammar","syntax":"regex","definition":"[0-9-]+"}},
		{"type":"custom","custom":{"name":"say","format":{"type":"text"}}}, {"type":"custom","name":"think"}]`), true)
	if err != nil || len(leftOut) > 0 || len(tools) != 5 {
		t.Fatal(tools, leftOut, err)
	}
	if diff := cmp.Diff(string(tools[0].JSON), string(tools[1].JSON)); diff != "" || tools[0].Input != tools[1].Input || tools[0].Input.Lark != `start: "<a>"` {
		t.Errorf("%+v, %s", tools[0], diff)
	}
	want := `{"type":"function","function":{"name":"patch","description":"Edits <files>","parameters":{"type":"object","properties":{"input":{"type":"string",` +
		`"description":"The text for the tool, as it is. It fits this grammar in Lark's notation:\nstart: \"<a>\""}},"required":["input"],"additionalProperties":false}}}`
	if diff := cmp.Diff(want, string(tools[0].JSON)); diff != "" {
		t.Error(diff)
	}
	if tools[0].Field != "tools[0].format.definition" || tools[1].Field != "tools[1].custom.format.grammar.definition" {
		t.Errorf("fields %s and %s", tools[0].Field, tools[1].Field)
	}
	if tools[2].Input.Regex != "[0-9-]+" || tools[3].Input.Regex+tools[3].Input.Lark != "" || !tools[4].Custom {
		t.Errorf("%+v", tools[2:])
	}
	for choice, name := range map[string]string{`{"type":"custom","name":"date"}`: "date", `{"type":"custom","custom":{"name":"say"}}`: "say"} {
		if c, err := ParseToolChoice(json.RawMessage(choice), tools); err != nil || c.Name != name || c.Mode != "required" {
			t.Errorf("%s: %+v %v", choice, c, err)
		}
	}
	allowed := `{"type":"allowed_tools","mode":"auto","tools":[{"type":"custom","name":"date"},{"type":"custom","custom":{"name":"say"}}]}`
	if c, err := ParseToolChoice(json.RawMessage(allowed), tools); err != nil || strings.Join(c.Allowed, " ") != "date say" {
		t.Errorf("%+v %v", c, err)
	}
	if more, leftOut, err := ParseTools(split(t, `[{"type":"custom","name":"f"}]`), false); err != nil || len(more) > 0 || len(leftOut) != 1 {
		t.Errorf("a dialect without custom tools: %v %v %v", more, leftOut, err)
	}
}

func TestParseTools_CustomWrong(t *testing.T) {
	for body, field := range map[string]string{
		`"format":null`:       "tools[0].name",
		`"name":5`:            "tools[0].name",
		`"custom":{"name":5}`: "tools[0].custom.name",
		`"name":"f","format":{"type":"grammar","syntax":"regex","definition":"` + strings.Repeat("a", peg.MaxRegex+1) + `"}`: "tools[0].format.definition",
		`"custom":{}`:                                            "tools[0].custom.name",
		`"name":"f","format":{"type":"xml"}`:                     "tools[0].format.type",
		`"name":"f","format":{"type":"grammar"}`:                 "tools[0].format.syntax",
		`"name":"f","format":{"type":"grammar","syntax":"lark"}`: "tools[0].format.definition",
		`"name":"f","format":{"type":"grammar","syntax":"lark","definition":"start: \"\u0000\""}`:                            "tools[0].format.definition",
		`"custom":{"name":"f","format":{"type":"grammar","grammar":{"syntax":"gbnf"}}}`:                                      "tools[0].custom.format.grammar.syntax",
		`"name":"f","format":{"type":"grammar","syntax":"lark","definition":"` + strings.Repeat("a", maxDefinition+1) + `"}`: "tools[0].format.definition",
	} {
		_, _, err := ParseTools(split(t, `[{"type":"custom",`+body+`}]`), true)
		var invalid *Invalid
		if !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("%.200s: got %v, want field %s", body, err, field)
		}
	}
}

// The text for a custom tool is the same however its arguments come.
func TestCustomCalls(t *testing.T) {
	for arguments, want := range map[string]string{
		`{"input": "a\nb"}`: "a\nb",
		` { "input" :"\"\\\/\b\f\r\tä\u00e4\ud83d\ude00😀</x>" }`: "\"\\/\b\f\r\tää😀😀</x>",
		`{"input":"\ud83dx\ud83d"}`:                              "\uFFFDx\uFFFD",
		`{"input":"\ud83d\u0041"}`:                               "\uFFFDA",
		`{"\u0069nput":"a"}`:                                     "a",
		`{"\u0069nput\"":"a"}`:                                   `{"\u0069nput\"":"a"}`,
		`{"input":""}`:                                           "",
		`{"input":"cut \u00`:                                     "cut ",
		`{"input": 12}`:                                          `{"input": 12}`, // nothing gets lost
		`{}`:                                                     `{}`,
	} {
		whole := newCustomCalls([]string{"f"}).translate([]Delta{{Call: &CallDelta{Name: "f", Arguments: arguments}}})
		if len(whole) != 1 || !whole[0].Call.Custom || whole[0].Call.Arguments != want {
			t.Errorf("%s: got %+v", arguments, whole[0].Call)
		}
		calls, got := newCustomCalls([]string{"f"}), ""
		calls.translate([]Delta{{Call: &CallDelta{Name: "f"}}})
		for i := range len(arguments) {
			for _, d := range calls.translate([]Delta{{Call: &CallDelta{Arguments: arguments[i : i+1]}}}) {
				got += d.Call.Arguments
			}
		}
		if got != want {
			t.Errorf("%s: byte by byte %q", arguments, got)
		}
	}
	other := newCustomCalls([]string{"f"}).translate([]Delta{{Content: "x"}, {Call: &CallDelta{Name: "g", Arguments: `{"input":"a"}`}}})
	if len(other) != 2 || other[1].Call.Custom || other[1].Call.Arguments != `{"input":"a"}` {
		t.Errorf("a function: %+v", other)
	}
}

func TestParseMessages_CustomCall(t *testing.T) {
	m, _, err := ParseMessages(split(t, `[{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"custom","custom":{"name":"f","input":"<a>\n\"b\""}}]}]`))
	if err != nil || m[0].ToolCalls[0] != NewToolCall("1", "f", `{"input":"<a>\n\"b\""}`) {
		t.Errorf("%+v %v", m, err)
	}
	for call, field := range map[string]string{`{"input":"a"}`: "messages[0].tool_calls[0].custom.name", `{"name":"f"}`: "messages[0].tool_calls[0].custom.input"} {
		_, _, err := ParseMessages(split(t, `[{"role":"assistant","tool_calls":[{"type":"custom","custom":`+call+`}]}]`))
		var invalid *Invalid
		if !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("%s: %v", call, err)
		}
	}
}
