// SPDX-License-Identifier: MIT

package responses

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each message has the field that the client knows it by: what the assistant thought, said and
// called is one.
func TestBody_Conversation_Fields(t *testing.T) {
	instructions := "be brief"
	b := &body{Instructions: &instructions, Input: json.RawMessage(`[{"role":"user","content":"hi"},{"type":"web_search_call"},{"type":"reasoning","summary":[]},{"role":"assistant","content":"no"},
		{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"5"},{"role":"developer","content":"x"}]`)}
	c, err := b.conversation()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"instructions", "input[0]", "input[2]", "input[5]", "input[6]"}, c.Fields); d != "" || len(c.Messages) != len(c.Fields) {
		t.Error(d, len(c.Messages))
	}
}
