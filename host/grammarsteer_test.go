// SPDX-License-Identifier: MIT

package host

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// tellStory begins a greedy story over the WebSocket, with further fields.
func tellStory(c *client, id, fields string) {
	c.t.Helper()
	c.send(fmt.Sprintf(`{"type":"generate","id":%q,"request":{"messages":[{"role":"user","content":"Tell me a story about a frog."}],
		"temperature":0,"ignore_eos":true,"max_tokens":400%s}}`, id, fields))
}

// reads reads an answer's text until it has what is wanted.
func reads(c *client, text *strings.Builder, wanted func(string) bool) {
	c.t.Helper()
	for !wanted(text.String()) {
		_, data, err := c.conn.Read(c.t.Context())
		if err != nil {
			c.t.Fatal(err)
		}
		var f liveFrame
		if err := json.Unmarshal(data, &f); err != nil {
			c.t.Fatal(err)
		}
		switch f.Type {
		case "token":
			text.WriteString(f.Text)
		case "end", "error":
			c.t.Fatalf("after %q: %s", text.String(), data)
		}
	}
}

// A client exchanges a lazy grammar that is awake: for one that the answer does not fit, which is refused, and for none.
func TestSocket_LazyGrammar_Set(t *testing.T) {
	h := openWithPlugins(t, nil, nil)
	c := dial(t, h)
	tellStory(c, "a", `,"grammar":"root ::= \"garden\" [a-z ]*","grammar_lazy":true,"grammar_triggers":[{"type":1,"value":"garden"}],"preserved_tokens":["garden"]`)
	var text strings.Builder
	behind := func(s string) string { // the last garden
		return s[strings.LastIndex(s, "garden")+len("garden"):]
	}
	reads(c, &text, func(s string) bool { return strings.Contains(s, "garden") && len(behind(s)) > 30 })
	if rest := behind(text.String()); strings.ContainsAny(rest, ".,") {
		t.Errorf("under the grammar: %q", rest)
	}
	c.send(`{"type":"pause","id":"a"}`)
	c.send(`{"type":"set","id":"a","sampling":{"grammar":"root ::= \"never\""}}`)
	if f := c.until("error"); f.Error.Code != "unsatisfiable" || f.Error.Param != "sampling" || !strings.Contains(f.Error.Message, "fit") {
		t.Errorf("a grammar that the answer does not fit: %+v", f)
	}
	c.send(`{"type":"set","id":"a","sampling":{"grammar":""}}`)
	c.send(`{"type":"resume","id":"a"}`)
	text.Reset()
	reads(c, &text, func(s string) bool { return strings.Contains(s, ".") })
	c.send(`{"type":"cancel","id":"a"}`)
	c.until("end")
}

// A client ends a reasoning that goes on too long by making its budget smaller.
func TestSocket_ReasoningBudget_Set(t *testing.T) {
	h := openWithPlugins(t, nil, nil)
	c := dial(t, h)
	tellStory(c, "a", `,"reasoning_budget_start_tag":" time","reasoning_budget_end_tag":"!","reasoning_budget_message":" stop","reasoning_budget_tokens":300`)
	var text strings.Builder
	reads(c, &text, func(s string) bool { return strings.Contains(s, " garden") })
	if strings.Contains(text.String(), " stop!") {
		t.Errorf("ended before: %q", text.String())
	}
	c.send(`{"type":"pause","id":"a"}`)
	c.send(`{"type":"set","id":"a","sampling":{"thinking_budget_tokens":0}}`)
	c.send(`{"type":"resume","id":"a"}`)
	reads(c, &text, func(s string) bool { return strings.Contains(s, " stop!") })
	c.send(`{"type":"cancel","id":"a"}`)
	c.until("end")
}
