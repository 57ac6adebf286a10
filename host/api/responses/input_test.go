// SPDX-License-Identifier: MIT

package responses

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// Each message has the field that the client knows it by: what the assistant thought, said and
// called is one.
func TestBody_Conversation_Fields(t *testing.T) {
	instructions := "be brief"
	b := &body{Instructions: &instructions, Input: json.RawMessage(`[{"role":"user","content":"hi"},{"type":"web_search_call"},{"type":"reasoning","summary":[]},{"role":"assistant","content":"no"},
		{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"5"},{"role":"developer","content":"x"}]`)}
	c := must.Get(b.conversation())(t)
	var fields []string
	for _, m := range c.Messages {
		fields = append(fields, m.Field)
	}
	if d := cmp.Diff([]string{"instructions", "input[0]", "input[2]", "input[5]", "input[6]"}, fields); d != "" {
		t.Error(d)
	}
}

// What the assistant thought and said in many items takes no longer than as many messages.
func TestBody_Conversation_ManyItems(t *testing.T) {
	const n = 5000
	long := strings.Repeat("x", 1<<20)
	read := func(item string) func() {
		b := &body{Input: json.RawMessage(`[` + strings.Replace(item, `"x"`, `"`+long+`"`, 1) + strings.Repeat(`,`+item, n) + `]`)}
		return func() {
			must.Get(b.conversation())(t)
		}
	}
	thought := `{"type":"reasoning","content":[{"type":"reasoning_text","text":"x"}]}`
	said := `{"role":"assistant","content":"x"}`
	messages := steadytest.Cost(t, read(`{"role":"user","content":"x"}`))
	for _, item := range []string{thought, said} {
		if took, ok := steadytest.Within(t, 10*messages, read(item)); !ok {
			t.Errorf("%s: %v, messages take %v", item, took, messages)
		}
	}
}

// What the assistant says in several items is one message.
func TestBody_Conversation_OneTurn(t *testing.T) {
	b := &body{Input: json.RawMessage(`[{"type":"reasoning","summary":[{"type":"summary_text","text":"h"}]},{"role":"assistant","content":""},{"type":"reasoning","content":[{"type":"reasoning_text","text":"m"}]},
		{"role":"assistant","content":"a"},{"role":"assistant","content":[{"type":"output_text","text":"b"},{"type":"output_text","text":"c"}]}]`)}
	c, err := b.conversation()
	if err != nil || len(c.Messages) != 1 || c.Messages[0].Role != "assistant" || c.Messages[0].Content != "a\nb\nc" || c.Messages[0].Reasoning != "hm" {
		t.Errorf("%+v %v", c.Messages, err)
	}
}
