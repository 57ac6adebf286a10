// SPDX-License-Identifier: MIT

package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// tellStory begins a greedy story over the WebSocket, with further fields.
func tellStory(c *hosts.Client, id, fields string) {
	c.T.Helper()
	c.Send(fmt.Sprintf(`{"type":"generate","id":%q,"request":{"messages":[{"role":"user","content":"Tell me a story about a frog."}],
		"temperature":0,"ignore_eos":true,"max_tokens":400%s}}`, id, fields))
}

// reads reads an answer's text until it has what is wanted.
func reads(c *hosts.Client, text *strings.Builder, wanted func(string) bool) {
	c.T.Helper()
	for !wanted(text.String()) {
		_, data := must.Both(c.Conn.Read(c.T.Context()))(c.T)
		var f hosts.Frame
		must.Do(c.T, json.Unmarshal(data, &f))
		switch f.Type {
		case "token":
			text.WriteString(f.Text)
		case "end", "error":
			c.T.Fatalf("after %q: %s", text.String(), data)
		}
	}
}

// A client exchanges a lazy grammar that is awake: for one that the answer does not fit, which is
// refused, and for none.
func TestSocket_LazyGrammar_Set(t *testing.T) {
	h := hosts.Shared(t, nil, nil)
	c := hosts.Dial(t, h)
	tellStory(c, "a", `,"grammar":"root ::= \"garden\" [a-z ]*","grammar_lazy":true,"grammar_triggers":[{"type":1,"value":"garden"}],"preserved_tokens":["garden"]`)
	var text strings.Builder
	behind := func(s string) string { // the last garden
		return s[strings.LastIndex(s, "garden")+len("garden"):]
	}
	reads(c, &text, func(s string) bool { return strings.Contains(s, "garden") && len(behind(s)) > 30 })
	if rest := behind(text.String()); strings.ContainsAny(rest, ".,") {
		t.Errorf("under the grammar: %q", rest)
	}
	c.Send(`{"type":"pause","id":"a"}`)
	c.Send(`{"type":"set","id":"a","sampling":{"grammar":"root ::= \"never\""}}`)
	if f := c.Until("error"); f.Error.Code != "unsatisfiable" || f.Error.Param != "sampling" || !strings.Contains(f.Error.Message, "fit") {
		t.Errorf("a grammar that the answer does not fit: %+v", f)
	}
	c.Send(`{"type":"set","id":"a","sampling":{"grammar":""}}`)
	c.Send(`{"type":"resume","id":"a"}`)
	text.Reset()
	reads(c, &text, func(s string) bool { return strings.Contains(s, ".") })
	c.Send(`{"type":"cancel","id":"a"}`)
	c.Until("end")
}
