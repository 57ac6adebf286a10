// SPDX-License-Identifier: MIT

package ollama

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

func read(t testing.TB, messages string) ([]chat.Message, error) {
	t.Helper()
	var raw []json.RawMessage
	if err := json.Unmarshal([]byte(messages), &raw); err != nil {
		t.Fatal("not a list of messages:", err)
	}
	all, _, err := readMessages(raw)
	return all, err
}

func TestReadMessages_Conversations(t *testing.T) {
	got, err := read(t, `[
		{"role":"system","content":"be brief"},
		{"role":"user","content":"hi","images":[]},
		{"role":"assistant","thinking":"hm","content":"","tool_calls":[{"function":{"name":"f","arguments":{"z": 1, "a": 2}}},{"id":"c1","function":{"name":"f","arguments":"{\"b\":1}"}}]},
		{"role":"tool","content":"sunny","tool_name":"f","tool_call_id":"c1"}]`)
	want := []chat.Message{
		{Role: "system", Content: "be brief"},
		{Role: "user", Content: "hi"},
		{Role: "assistant", Reasoning: "hm", ToolCalls: []chat.ToolCall{chat.NewToolCall("call_2_0", "f", `{"z": 1, "a": 2}`), chat.NewToolCall("c1", "f", `{"b":1}`)}},
		{Role: "tool", Content: "sunny", Name: "f", ToolCallID: "c1"},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// Arguments may be an object, its text, or nothing: a call of a function that takes none.
func TestReadMessages_Arguments(t *testing.T) {
	for given, want := range map[string]string{
		`,"arguments":{"a":1}`: `{"a":1}`, `,"arguments":"{\"a\":1}"`: `{"a":1}`, `,"arguments":""`: `{}`, `,"arguments":null`: `{}`, ``: `{}`,
	} {
		got, err := read(t, `[{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f"`+given+`}}]}]`)
		if err != nil || got[0].ToolCalls[0].Function.Arguments != want {
			t.Errorf("%s: got %+v, %v", given, got, err)
		}
	}
}

// Results without ids are those of the first call of their tool that has none yet.
func TestReadMessages_ResultsFindTheirCalls(t *testing.T) {
	got, err := read(t, `[
		{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f"}},{"function":{"name":"g"}},{"function":{"name":"f"}}]},
		{"role":"tool","content":"1","tool_name":"g"},
		{"role":"tool","content":"2","tool_name":"f"},
		{"role":"tool","content":"3"},
		{"role":"tool","content":"4","tool_name":"f"}]`)
	var ids []string
	for _, m := range got[1:] {
		ids = append(ids, m.ToolCallID)
	}
	if diff := cmp.Diff([]string{"call_0_1", "call_0_0", "call_0_2", ""}, ids); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// A client may give several calls one id, or an id that another call is given here. Each result is
// then that of the first of them that has none yet, and a call that has its result is passed over
// by whatever its next result is found by.
func TestReadMessages_CallsOfOneID(t *testing.T) {
	got, err := read(t, `[
		{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f"}},{"id":"a","function":{"name":"f"}},{"id":"a","function":{"name":"g"}},{"id":"call_0_0","function":{"name":"g"}},{"id":"g","function":{"name":"a"}}]},
		{"role":"tool","content":"1","tool_name":"g","tool_call_id":"a"},
		{"role":"tool","content":"2","tool_name":"g"},
		{"role":"tool","content":"3","tool_call_id":"a"},
		{"role":"tool","content":"4","tool_call_id":"call_0_0"},
		{"role":"tool","content":"5","tool_name":"f"},
		{"role":"tool","content":"6","tool_name":"g"},
		{"role":"tool","content":"7"},
		{"role":"tool","content":"8"}]`)
	var ids []string
	for _, m := range got[1:] {
		ids = append(ids, m.ToolCallID)
	}
	// The second takes the second call of id a, so that the third has an id that no call is left
	// for.
	if diff := cmp.Diff([]string{"a", "a", "a", "call_0_0", "", "call_0_0", "g", ""}, ids); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// A body has room for hundreds of thousands of calls and results: were each result looked for
// among all calls, this would take minutes.
func TestReadMessages_ManyCalls(t *testing.T) {
	calls := steadytest.InLongTest(100_000, 20_000)
	var text strings.Builder
	text.WriteString(`[{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f"}},{"function":{"name":"g"}}`)
	text.WriteString(strings.Repeat(`,{"function":{"name":"f"}},{"function":{"name":"g"}}`, calls/2-1) + `]}`)
	text.WriteString(strings.Repeat(`,{"role":"tool","tool_name":"g"}`, calls/2) + strings.Repeat(`,{"role":"tool"}`, calls/2) + `]`)
	got, err := read(t, text.String())
	if err != nil || len(got) != 1+calls {
		t.Fatalf("%d messages, %v", len(got), err)
	}
	for i, m := range got[1:] {
		call := 2*i + 1 // those of g come first
		if i >= calls/2 {
			call = 2*i - calls
		}
		if want := fmt.Sprintf("call_0_%d", call); m.ToolCallID != want {
			t.Fatalf("result %d is that of %q, not %q", i, m.ToolCallID, want)
		}
	}
}

func TestReadMessages_Refusals(t *testing.T) {
	for messages, want := range map[string]string{
		`[7]`:                               "messages[0] must be an object",
		`[null]`:                            "messages[0] must be an object",
		`[{"role":"user","content":["a"]}]`: "messages[0].content is an array; it must be a text",
		`[{"role":"usr","content":"a"}]`:    `messages[0].role is "usr"; it must be one of system, developer, user, assistant, tool`,
		`[{"role":"assistant","tool_calls":[{"function":{}}]}]`: "messages[0].tool_calls[0].function.name is missing",
	} {
		if _, err := read(t, messages); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", messages, err, want)
		}
	}
}

// What is read is in shape: calls have names, ids and arguments that are JSON, and what it says is
// the client's mistake names a message.
func FuzzReadMessages(f *testing.F) {
	f.Add(`[{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]},{"role":"tool","content":"1","tool_name":"f"}]`)
	f.Fuzz(func(t *testing.T, messages string) {
		if json.Unmarshal([]byte(messages), new([]json.RawMessage)) != nil {
			return // the body's decoder has refused it
		}
		got, err := read(t, messages)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "messages") {
				t.Error(err)
			}
			return
		}
		for i, m := range got {
			if !slices.Contains(chat.Roles, m.Role) {
				t.Errorf("message %d is by %q", i, m.Role)
			}
			for _, call := range m.ToolCalls {
				if call.ID == "" || call.Function.Name == "" || call.Function.Arguments == "" {
					t.Errorf("message %d calls %+v", i, call)
				}
			}
		}
	})
}

// What a pass has thought and said goes into two lines.
func TestShape_Part_ThoughtAndSaidApart(t *testing.T) {
	r := &completion.Prompted{Model: &serving.Model{}}
	s := &shape{request: r, chat: true}
	lines := s.Part(&completion.Choice{Request: &completion.Submitted{Prompted: r}}, completion.Delta{Reasoning: "Hm.", Content: "Yes."})
	var got []string
	for _, l := range lines {
		text := must.Get(json.Marshal(l.(line).Message))(t)
		got = append(got, string(text))
	}
	if want := []string{`{"role":"assistant","content":"","thinking":"Hm."}`, `{"role":"assistant","content":"Yes."}`}; len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%q, want %q", got, want)
	}
}
