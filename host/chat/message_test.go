// SPDX-License-Identifier: MIT

package chat

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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
