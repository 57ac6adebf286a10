// SPDX-License-Identifier: MIT

package anthropic

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/host/chat"
)

func raw(items ...string) (list []json.RawMessage) {
	for _, item := range items {
		list = append(list, json.RawMessage(item))
	}
	return list
}

// A tool is written in OpenAI's shape, and its schema keeps the order of its keys.
func TestReadTools_Shape(t *testing.T) {
	got, leftOut, err := readTools(raw(
		`{"name":"f","description":"finds","input_schema":{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"}}},"cache_control":null}`,
		`{"type":"web_search_20250305","name":"web_search"}`,
		`{"type":"custom","name":"g","input_schema":{},"strict":false}`))
	want := []chat.Tool{
		{Name: "f", JSON: json.RawMessage(`{"type":"function","function":{"name":"f","description":"finds","parameters":{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"}}}}}`), Field: "tools[0].input_schema"},
		{Name: "g", JSON: json.RawMessage(`{"type":"function","function":{"name":"g","parameters":{}}}`), Field: "tools[2].input_schema", Strict: new(bool)},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if diff := cmp.Diff([]string{"tools[1]"}, leftOut); diff != "" {
		t.Error("left out:", diff)
	}
	if _, _, err := chat.ParseTools(raw(string(got[0].JSON), string(got[1].JSON)), false); err != nil {
		t.Errorf("OpenAI's reader says %v", err)
	}
}

func TestReadTools_Refusals(t *testing.T) {
	for tool, want := range map[string]string{
		`7`:                   "tools[0] is not a tool: an object with a name, perhaps a description, and an input_schema",
		`null`:                "tools[0] is not a tool: an object with a name, perhaps a description, and an input_schema",
		`{"input_schema":{}}`: "tools[0].name is missing",
		`{"name":"f","input_schema":{},"strict":"no"}`: "tools[0].strict must be true or false",
		`{"name":"f"}`:                   "tools[0].input_schema must be a JSON schema, which is an object",
		`{"name":"f","input_schema":[]}`: "tools[0].input_schema must be a JSON schema, which is an object",
	} {
		if _, _, err := readTools(raw(tool)); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", tool, err, want)
		}
	}
}

func TestReadToolChoice(t *testing.T) {
	tools := []chat.Tool{{Name: "f"}, {Name: "g"}}
	yes, no := true, false
	for in, want := range map[string]struct {
		choice   chat.ToolChoice
		parallel *bool
		err      string
	}{
		`null`:            {},
		`{"type":"auto"}`: {},
		`{"type":"auto","disable_parallel_tool_use":true}`: {parallel: &no},
		`{"type":"any","disable_parallel_tool_use":false}`: {choice: chat.ToolChoice{Mode: "required"}, parallel: &yes},
		`{"type":"none"}`:            {choice: chat.ToolChoice{Mode: "none"}},
		`{"type":"tool","name":"g"}`: {choice: chat.ToolChoice{Mode: "required", Name: "g"}},
		`{"type":"tool","name":"h"}`: {err: `tool_choice.name is "h", which is none of the tools`},
		`{"type":"required"}`:        {err: `tool_choice.type is "required"; it must be auto, any, tool or none`},
		`"any"`:                      {err: "tool_choice is not an object with a type: auto, any, tool or none"},
	} {
		choice, parallel, err := readToolChoice(json.RawMessage(in), tools)
		if want.err != "" {
			if err == nil || err.Error() != want.err {
				t.Errorf("%s: got %v, want %s", in, err, want.err)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(choice, want.choice) || !cmp.Equal(parallel, want.parallel) {
			t.Errorf("%s: got %+v %v %v", in, choice, parallel, err)
		}
	}
	if _, _, err := readToolChoice(json.RawMessage(`{"type":"any"}`), nil); err == nil {
		t.Error("any of no tools")
	}
}

func TestReadThinking(t *testing.T) {
	five := 5
	for in, want := range map[string]struct {
		on     bool
		budget *int
		err    string
	}{
		``:                                     {},
		`null`:                                 {},
		`{"type":"disabled"}`:                  {},
		`{"type":"adaptive"}`:                  {on: true},
		`{"type":"enabled","budget_tokens":5}`: {on: true, budget: &five},
		`{"type":"enabled"}`:                   {err: "thinking.budget_tokens must be at least 1 where thinking is enabled"},
		`{"type":"enabled","budget_tokens":0}`: {err: "thinking.budget_tokens must be at least 1 where thinking is enabled"},
		`{"type":"hard"}`:                      {err: `thinking.type is "hard"; it must be enabled, disabled or adaptive`},
		`true`:                                 {err: "thinking is not an object with a type (enabled, disabled or adaptive) and budget_tokens, an integer"},
	} {
		on, budget, err := readThinking(json.RawMessage(in))
		if want.err != "" {
			if err == nil || err.Error() != want.err {
				t.Errorf("%s: got %v, want %s", in, err, want.err)
			}
			continue
		}
		if err != nil || on != want.on || !cmp.Equal(budget, want.budget) {
			t.Errorf("%s: got %v %v %v", in, on, budget, err)
		}
	}
}
