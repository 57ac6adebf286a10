// SPDX-License-Identifier: MIT

package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// Only a message that says nothing at all is left out, however its content came.
func TestConversation_WithoutEmptyEnd(t *testing.T) {
	user := Message{Role: "user", Content: "hi"}
	for name, c := range map[string]struct {
		last  Message
		stays bool
	}{
		"an empty text":    {Message{Role: "assistant"}, false},
		"empty parts":      {Message{Role: "assistant", Content: "\n", Parts: []string{"", ""}}, false},
		"no parts":         {Message{Role: "assistant", Parts: []string{}}, false},
		"a text":           {Message{Role: "assistant", Content: "a"}, true},
		"a part":           {Message{Role: "assistant", Content: "\na", Parts: []string{"", "a"}}, true},
		"reasoning":        {Message{Role: "assistant", Reasoning: "hm"}, true},
		"a call":           {Message{Role: "assistant", ToolCalls: []ToolCall{NewToolCall("1", "f", "{}")}}, true},
		"an empty user":    {Message{Role: "user"}, true},
		"an empty system":  {Message{Role: "system"}, true},
		"an empty outcome": {Message{Role: "tool"}, true},
	} {
		asked := Conversation{Messages: []Message{user, c.last}, Beginning: Beginning{Continue: ContinueAuto, AddGenerationPrompt: new(bool)}}
		want := Conversation{Messages: []Message{user}, Beginning: Beginning{Fresh: true}}
		if c.stays {
			want = asked
		}
		if diff := cmp.Diff(want, asked.WithoutEmptyEnd()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		asked.Fresh = true
		if diff := cmp.Diff(asked, asked.WithoutEmptyEnd()); diff != "" {
			t.Errorf("%s, with a fresh answer asked for by name (-want +got):\n%s", name, diff)
		}
	}
}

const fTool = `{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"b":{},"a":{}}}}}`

func TestParseTools_KeepTheirText(t *testing.T) {
	tools, _ := must.Both(ParseTools(split(t, `[`+fTool+`,{"type":"function","function":{"name":"g"}}]`), true))(t)
	if more, leftOut, err := ParseTools(split(t, `[{"type":"web_search"},`+fTool+`]`), true); err != nil || more[0].Field != "tools[1].function.parameters" || leftOut[0] != "tools[0]" {
		t.Errorf("behind one that is left out: %v %+v %v", err, more, leftOut)
	}
	if tools[0].Name != "f" || string(tools[0].JSON) != fTool || tools[1].Parameters() != nil {
		t.Errorf("%+v", tools)
	}
	if want := `{"type":"object","properties":{"b":{},"a":{}}}`; string(tools[0].Parameters()) != want {
		t.Errorf("got %s", tools[0].Parameters())
	}
}

func TestParseTools_Wrong(t *testing.T) {
	for body, field := range map[string]string{
		`[7]`:                                 "tools[0]",
		`[null]`:                              "tools[0]",
		`[` + fTool + `,{}]`:                  "tools[1].type",
		`[{"name":"f"}]`:                      "tools[0].type",
		`[{"type":"function"}]`:               "tools[0].function",
		`[{"type":"function","function":{}}]`: "tools[0].function.name",
		`[{"type":"function","function":{"name":7}}]`:                           "tools[0].function.name",
		`[{"type":"function","function":{"name":"f","parameters":[1]}}]`:        "tools[0].function.parameters",
		`[{"type":"function","function":{"name":"f","description":{"a":"b"}}}]`: "tools[0].function.description",
	} {
		_, _, err := ParseTools(split(t, body), true)
		var invalid *Invalid
		if !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("%s: got %v, want field %s", body, err, field)
		}
	}
}

// Of a conversation's tools, the model is told of those that it may call.
func TestConversation_Offered(t *testing.T) {
	c := Conversation{Tools: []Tool{{Name: "f"}, {Name: "g"}}}
	for want, choice := range map[string]ToolChoice{"fg": {}, "g": {Mode: "required", Name: "g"}, "f": {Allowed: []string{"f"}}, "": {Allowed: []string{}}} {
		got := ""
		c.ToolChoice = choice
		for _, tool := range c.Offered() {
			got += tool.Name
		}
		if got != want {
			t.Errorf("%+v: %q; want %q", choice, got, want)
		}
	}
}

func TestParseToolChoice(t *testing.T) {
	tools := []Tool{{Name: "f"}, {Name: "g"}}
	for body, want := range map[string]struct {
		choice ToolChoice
		field  string
	}{
		``:                {},
		`null`:            {},
		`"auto"`:          {choice: ToolChoice{Mode: "auto"}},
		`"none"`:          {choice: ToolChoice{Mode: "none"}},
		`{"type":"auto"}`: {choice: ToolChoice{Mode: "auto"}},
		`{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","function":{"name":"g"}}]}}`: {choice: ToolChoice{Mode: "required", Allowed: []string{"g"}}},
		`{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"f"},{"type":"image_generation"}]}`:        {choice: ToolChoice{Mode: "auto", Allowed: []string{"f"}}},
		`{"type":"allowed_tools","tools":[{"name":"g"},{"name":"f"},{"name":"g"}]}`:                                          {choice: ToolChoice{Mode: "auto", Allowed: []string{"g", "f"}}},
		`{"type":"allowed_tools","tools":[{"type":"function","name":"h"}]}`:                                                  {field: "tool_choice.tools[0]"},
		`{"type":"allowed_tools","mode":"required","tools":[]}`:                                                              {field: "tool_choice.mode"},
		`{"type":"allowed_tools","mode":7}`:                                                                                  {field: "tool_choice.mode"},
		`{"type":"allowed_tools","allowed_tools":{"mode":7}}`:                                                                {field: "tool_choice.allowed_tools.mode"},
		`"required"`: {choice: ToolChoice{Mode: "required"}},
		`{"type":"function","function":{"name":"g"}}`: {choice: ToolChoice{Mode: "required", Name: "g"}},
		`"maybe"`:               {field: "tool_choice"},
		`7`:                     {field: "tool_choice"},
		`{"type":"web_search"}`: {field: "tool_choice.type"},
		`{"type":"function"}`:   {field: "tool_choice.function.name"},
		`{"type":"function","function":{"name":"h"}}`: {field: "tool_choice.function.name"},
	} {
		got, err := ParseToolChoice(json.RawMessage(body), tools)
		var invalid *Invalid
		errors.As(err, &invalid)
		if want.field == "" && err != nil || want.field != "" && (invalid == nil || invalid.Field != want.field) {
			t.Errorf("%s: got %v, want field %q", body, err, want.field)
		}
		if diff := cmp.Diff(want.choice, got); diff != "" && want.field == "" {
			t.Errorf("%s: (-want +got):\n%s", body, diff)
		}
	}
	if _, err := ParseToolChoice(json.RawMessage(`"required"`), nil); err == nil {
		t.Error("required without tools is taken")
	}
}

func TestParseMessages_ToolCalls_Wrong(t *testing.T) {
	for call, field := range map[string]string{
		`7`:                   "messages[0].tool_calls[0]",
		`{}`:                  "messages[0].tool_calls[0].function.name",
		`{"type":"mcp"}`:      "messages[0].tool_calls[0].type",
		`{"type":"function"}`: "messages[0].tool_calls[0].function.name",
		`{"type":"function","function":{"name":"f"}}`:        "messages[0].tool_calls[0].function.arguments",
		`{"id":7,"type":"function","function":{"name":"f"}}`: "messages[0].tool_calls[0].id",
	} {
		_, _, err := ParseMessages(split(t, `[{"role":"assistant","tool_calls":[`+call+`]}]`))
		var invalid *Invalid
		if !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("%s: got %v, want field %s", call, err, field)
		}
	}
}

// A function that takes no arguments is called with none: some clients send them as an empty text.
func TestParseMessages_ToolCalls_NoArguments(t *testing.T) {
	got, _, err := ParseMessages(split(t, `[{"role":"assistant","tool_calls":[{"type":"function","function":{"name":"f","arguments":""}}]}]`))
	if err != nil || got[0].ToolCalls[0].Function.Arguments != "{}" {
		t.Errorf("got %+v, %v", got, err)
	}
}

// A description that is null is none, and neither moves the other members nor reaches the template.
func TestParseTools_NullIsNone(t *testing.T) {
	tools, _, err := ParseTools(split(t, `[{"type":"function","function":{"name":"f","description":null,"strict":null,"parameters":{"z":null,"a":1}}}]`), true)
	if want := `{"type":"function","function":{"name":"f","parameters":{"z":null,"a":1}}}`; err != nil || len(tools) != 1 || string(tools[0].JSON) != want {
		t.Errorf("%v %v, want %s", err, tools, want)
	}
}

// Whether a tool is strict is read where the tool says so.
func TestParseTools_Strict(t *testing.T) {
	tools, _, err := ParseTools(split(t, `[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"g","strict":true}},{"type":"function","function":{"name":"h","strict":false}}]`), true)
	if err != nil || len(tools) != 3 || tools[0].Strict != nil || tools[1].Strict == nil || !*tools[1].Strict || tools[2].Strict == nil || *tools[2].Strict {
		t.Errorf("%v %+v", err, tools)
	}
}

// Each allowed tool is looked up once, however many there are, and too many are refused.
func TestParseToolChoice_ManyAllowed(t *testing.T) {
	const n = 20_000
	choose := func(tools int) (ToolChoice, error) {
		c := Conversation{Tools: make([]Tool, tools)}
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprintf(`{"name":"tool%d"}`, i%tools)
			c.Tools[i%tools].Name = fmt.Sprintf("tool%d", i%tools)
		}
		var err error
		c.ToolChoice, err = ParseToolChoice(json.RawMessage(`{"type":"allowed_tools","tools":[`+strings.Join(names, ",")+`]}`), c.Tools)
		if err == nil && len(c.Offered()) != tools {
			t.Errorf("%d are offered of %d", len(c.Offered()), tools)
		}
		return c.ToolChoice, err
	}
	if _, err := choose(maxTools + 1); err == nil || !strings.Contains(err.Error(), "tool_choice.tools are more than the 2048") {
		t.Error(err)
	}
	few := steadytest.Cost(t, func() { _, _ = choose(1) })
	if took, ok := steadytest.Within(t, 4*few, func() { _, _ = choose(maxTools) }); !ok {
		t.Errorf("%v for %d tools, %v for one", took, maxTools, few)
	}
	if took, ok := steadytest.Within(t, 4*few, func() { _, _ = choose(n) }); !ok {
		t.Errorf("%v for %d tools, %v for one", took, n, few)
	}
}
