// SPDX-License-Identifier: MIT

package anthropic

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// read reads a conversation from its two fields, given as JSON.
func read(t testing.TB, system, messages string) ([]chat.Message, error) {
	t.Helper()
	var raw []json.RawMessage
	if err := json.Unmarshal([]byte(messages), &raw); err != nil {
		t.Fatal("not a list of messages:", err)
	}
	all, _, _, err := readMessages(json.RawMessage(system), raw)
	return all, err
}

func TestReadMessages_Conversations(t *testing.T) {
	user := []chat.Message{{Role: "user", Content: "hi"}}
	for name, c := range map[string]struct {
		system, messages string
		want             []chat.Message
	}{
		"text":           {``, `[{"role":"user","content":"hi"}]`, user},
		"blocks":         {`null`, `[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b","cache_control":{"type":"ephemeral"}}]}]`, []chat.Message{{Role: "user", Content: "a\nb", Parts: []string{"a", "b"}}}},
		"system":         {`"be brief"`, `[{"role":"user","content":"hi"}]`, append([]chat.Message{{Role: "system", Content: "be brief"}}, user...)},
		"system blocks":  {`[{"type":"text","text":"be"},{"type":"text","text":"brief"}]`, `[{"role":"user","content":"hi"}]`, append([]chat.Message{{Role: "system", Content: "be\nbrief"}}, user...)},
		"empty system":   {`[]`, `[{"role":"user","content":"hi"}]`, user},
		"billing":        {`"x-anthropic-billing-header: cc_version=2.1.101.e51; cc_entrypoint=cli; cch=a5145;You are kind."`, `[{"role":"user","content":"hi"}]`, append([]chat.Message{{Role: "system", Content: "You are kind."}}, user...)},
		"billing block":  {`[{"type":"text","text":"x-anthropic-billing-header: cc_version=2.1; cch=00000;"},{"type":"text","text":"Be kind."}]`, `[{"role":"user","content":"hi"}]`, append([]chat.Message{{Role: "system", Content: "Be kind."}}, user...)},
		"billing absent": {`"An x-anthropic-billing-header: is a header."`, `[{"role":"user","content":"hi"}]`, append([]chat.Message{{Role: "system", Content: "An x-anthropic-billing-header: is a header."}}, user...)},
		"a call and its result": {``, `[
			{"role":"user","content":"hi"},
			{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":""},{"type":"redacted_thinking","data":"x"},{"type":"text","text":"wait"},{"type":"tool_use","id":"c1","name":"f","input":{"z":1,"a":[]}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"1"},{"type":"text","text":"2"}]},{"type":"text","text":"and?"},{"type":"tool_result","tool_use_id":"c2","is_error":true}]}]`,
			[]chat.Message{
				{Role: "user", Content: "hi"},
				{Role: "assistant", Content: "wait", Parts: []string{"wait"}, Reasoning: "hm", ToolCalls: []chat.ToolCall{chat.NewToolCall("c1", "f", `{"z":1,"a":[]}`)}},
				{Role: "tool", ToolCallID: "c1", Content: "1\n2"},
				{Role: "tool", ToolCallID: "c2"},
				{Role: "user", Content: "and?", Parts: []string{"and?"}},
			}},
		"words in other blocks": {``, `[{"role":"user","content":[{"type":"document","title":"A","source":{"type":"text","media_type":"text/plain","data":"one"}},
			{"type":"document","source":{"type":"content","content":[{"type":"text","text":"two"}]}},{"type":"search_result","source":"u","title":"T","content":[{"type":"text","text":"three"}]},
			{"type":"tool_result","tool_use_id":"c","content":[{"type":"tool_reference","tool_name":"f"},{"type":"search_result","source":"u","title":"T","content":[{"type":"text","text":"four"}]}]}]}]`,
			[]chat.Message{{Role: "tool", ToolCallID: "c", Content: "f\nT\nu\nfour"}, {Role: "user", Content: "A\none\ntwo\nT\nu\nthree", Parts: []string{"A\none", "two", "T\nu\nthree"}}}},
		"what Anthropic did": {``, `[{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"server_tool_use","id":"s","name":"web_search","input":{}},{"type":"web_search_tool_result","tool_use_id":"s","content":[{"type":"web_search_result","url":"u"}]},{"type":"text","text":"b"}]}]`,
			[]chat.Message{{Role: "assistant", Content: "a\nb", Parts: []string{"a", "b"}}}},
		"only a result": {``, `[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"sunny"}]}]`,
			[]chat.Message{{Role: "tool", ToolCallID: "c1", Content: "sunny"}}},
	} {
		got, err := read(t, c.system, c.messages)
		if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(chat.Message{}, "Field")); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

// A message that no prompt says is named by the field that the client knows.
func TestReadMessages_Fields(t *testing.T) {
	got := must.Get(read(t, `"be brief"`, `[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"sunny"},{"type":"text","text":"and?"}]},{"role":"assistant","content":"no"}]`))(t)
	var fields []string
	for _, m := range got {
		fields = append(fields, m.Field)
	}
	if d := cmp.Diff([]string{"system", "messages[0].content", "messages[0].content", "messages[1].content"}, fields); d != "" {
		t.Error(d)
	}
}

func TestReadMessages_Refusals(t *testing.T) {
	for _, c := range []struct{ system, messages, want string }{
		{``, `[]`, "messages is empty; at least one message is needed"},
		{``, `[null]`, "messages[0] is not an object with a role and a content"},
		{``, `[{"role":"tool","content":"x"}]`, `messages[0].role is "tool"; it must be user, assistant or system`},
		{``, `[{"role":"user"}]`, "messages[0].content is missing"},
		{``, `[{"role":"user","content":7}]`, "messages[0].content must be a text or a list of content blocks"},
		{``, `[{"role":"user","content":[null]}]`, "messages[0].content[0] is not a content block: an object with a type and the fields of that type"},
		{``, `[{"role":"user","content":[{"type":"image","source":{}}]}]`, `messages[0].content[0].source.type is ""; it must be base64 or url`},
		{``, `[{"role":"user","content":[{"type":"image","source":{"type":"file","file_id":"x"}}]}]`, `messages[0].content[0].source.type is "file"; it must be base64 or url`},
		{``, `[{"role":"user","content":[{"type":"document","source":{"type":"base64"}}]}]`, `messages[0].content[0].source has no file: data in base64, or a url`},
		{``, `[{"role":"assistant","content":[{"type":"image","source":{"type":"base64","data":"aGk="}}]}]`, `messages[0].content[0] has type "image"; here this server takes text, thinking and tool_use`},
		{``, `[{"role":"user","content":[{"type":"tool_use","id":"a","name":"b","input":{}}]}]`, `messages[0].content[0] has type "tool_use"; here this server takes text, image, document, search_result and tool_result`},
		{``, `[{"role":"assistant","content":[{"type":"tool_use","id":"a","input":{}}]}]`, "messages[0].content[0].name is missing"},
		{``, `[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":"{}"}]}]`, "messages[0].content[0].input must be an object"},
		{``, `[{"role":"user","content":[{"type":"tool_result","content":"x"}]}]`, "messages[0].content[0].tool_use_id is missing"},
		{``, `[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"image"}]}]}]`, `messages[0].content[0].content[0].source.type is ""; it must be base64 or url`},
		{`7`, `[{"role":"user","content":"hi"}]`, "system must be a text or a list of content blocks"},
		{`[{"type":"image"}]`, `[{"role":"user","content":"hi"}]`, `system[0] has type "image"; here this server takes text`},
	} {
		if _, err := read(t, c.system, c.messages); err == nil || err.Error() != c.want {
			t.Errorf("%s: got %v, want %s", c.messages, err, c.want)
		}
	}
}

func FuzzReadMessages(f *testing.F) {
	f.Add(`"be brief"`, `[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]}]`)
	f.Add(`[{"type":"text","text":"a"}]`, `[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"1"}]}]}]`)
	f.Fuzz(func(t *testing.T, system, messages string) {
		if system != "" && !json.Valid([]byte(system)) || json.Unmarshal([]byte(messages), new([]json.RawMessage)) != nil {
			return // the body's decoder has refused it
		}
		got, err := read(t, system, messages)
		if err != nil {
			return
		}
		for i, m := range got {
			for _, call := range m.ToolCalls {
				if !json.Valid([]byte(call.Function.Arguments)) || call.Function.Name == "" {
					t.Errorf("message %d calls %+v", i, call)
				}
			}
		}
	})
}

// What the assistant thought in many blocks takes no longer than as many texts.
func TestReadMessages_ManyThoughts(t *testing.T) {
	const n = 5000
	long := strings.Repeat("x", 1<<20)
	parse := func(block string) func() {
		messages := `[{"role":"assistant","content":[` + strings.Replace(block, `"x"`, `"`+long+`"`, 1) + strings.Repeat(`,`+block, n) + `]}]`
		return func() {
			must.Get(read(t, "", messages))(t)
		}
	}
	texts := steadytest.Cost(t, parse(`{"type":"text","text":"x"}`))
	if took, ok := steadytest.Within(t, 10*texts, parse(`{"type":"thinking","thinking":"x"}`)); !ok {
		t.Errorf("%v, texts take %v", took, texts)
	}
}

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
