// SPDX-License-Identifier: MIT

package chat

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/penstock/penstock/tools/must"
)

// refused checks that a refusal names its field.
func refused(t *testing.T, err error, field string) {
	t.Helper()
	var invalid *Invalid
	if !errors.As(err, &invalid) || !strings.HasPrefix(invalid.Field, field) || invalid.Reason == "" || !utf8.ValidString(err.Error()) || len(invalid.Reason) > 500 {
		t.Errorf("got %v, want a refusal of %s", err, field)
	}
}

// Messages are refused by name, or they are in shape, and stay what they are when they are written
// and read again.
func FuzzParseMessages(f *testing.F) {
	f.Add(`[{"role":"assistant","content":[{"type":"text","text":"a"}],"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":{"a":1}}}]}]`)
	f.Fuzz(func(t *testing.T, text string) {
		var raw []json.RawMessage
		if json.Unmarshal([]byte(text), &raw) != nil {
			return // the body's decoder has refused it
		}
		messages, _, err := ParseMessages(raw)
		if err != nil {
			refused(t, err, "messages")
			return
		}
		for i, m := range messages {
			if !slices.Contains(Roles, m.Role) || m.Parts != nil && strings.Join(m.Parts, "\n") != m.Content {
				t.Errorf("message %d: %+v", i, m)
			}
			for _, c := range m.ToolCalls {
				if c.Type != typeFunction || c.Function.Name == "" || strings.TrimSpace(c.Function.Arguments) == "" {
					t.Errorf("message %d calls %+v", i, c)
				}
			}
		}
		written := must.Get(json.Marshal(messages))(t)
		again, _, err := ParseMessages(split(t, string(written)))
		if diff := cmp.Diff(messages, again, cmpopts.IgnoreFields(Message{}, "Parts"), cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("written as %s: %v\n%s", written, err, diff)
		}
	})
}

// Tools are refused by name or have one, and a choice is of a tool that there is.
func FuzzParseTools(f *testing.F) {
	f.Add(`[`+fTool+`]`, `{"type":"function","function":{"name":"f"}}`)
	f.Fuzz(func(t *testing.T, list, choice string) {
		var raw []json.RawMessage
		if json.Unmarshal([]byte(list), &raw) != nil || choice != "" && !json.Valid([]byte(choice)) {
			return // the body's decoder has refused it
		}
		tools, _, err := ParseTools(raw, true)
		if err != nil {
			refused(t, err, "tools[")
			return
		}
		for _, tool := range tools {
			if p := tool.Parameters(); tool.Name == "" || p != nil && !json.Valid(p) {
				t.Errorf("%+v has parameters %s", tool, p)
			}
		}
		chosen, err := ParseToolChoice(json.RawMessage(strings.TrimSpace(choice)), tools)
		if err != nil {
			refused(t, err, "tool_choice")
			return
		}
		offered := Conversation{Tools: tools, ToolChoice: chosen}.Offered()
		if chosen.Mode == "required" && len(offered) == 0 || chosen.Name != "" && (len(offered) != 1 || offered[0].Name != chosen.Name) {
			t.Errorf("%s chooses %+v of %+v", choice, chosen, offered)
		}
	})
}
