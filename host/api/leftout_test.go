// SPDX-License-Identifier: MIT

package api

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What agents send and nothing here acts on does not keep them out: the answer is that of the
// rest, and a header names each field.
func TestAPI_LeftOut_IsTold(t *testing.T) {
	const messages, tool = `"max_tokens":3,"messages":[{"role":"user","content":"hi"}]`, `{"type":"function","function":{"name":"f"}}`
	edits := `"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]}`
	r := newRig(t, nil)
	for _, c := range []struct {
		path, body string
		fields     []string
	}{
		{"/v1/messages", `{` + messages + `}`, nil},
		{"/v1/messages", `{` + messages + `,` + edits + `}`, []string{"context_management"}},
		{"/v1/messages", `{"max_tokens":3,"messages":[{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"server_tool_use","id":"s","name":"web_search","input":{}}]},{"role":"user","content":"hi"}]}`, []string{"messages[0].content[1]"}},
		{"/v1/messages/count_tokens", `{` + messages + `,` + edits + `}`, []string{"context_management"}},
		{"/v1/messages", `{"stream":true,` + messages + `,"tools":[{"type":"web_search_20250305","name":"web_search"}],` + edits + `}`, []string{"tools[0]", "context_management"}},
		{"/v1/chat/completions", `{` + messages + `,` + edits + `}`, []string{"context_management"}},
		{"/v1/chat/completions", `{` + messages + `,"tools":[{"type":"web_search"},{"type":"mcp","server_label":"g"},` + tool + `]}`, []string{"tools[0]", "tools[1]"}},
		{"/v1/responses", `{"input":"hi","max_output_tokens":3,"tools":[{"type":"function","name":"f"},{"type":"namespace","name":"n","tools":[]},` +
			`{"type":"mcp","name":"c"}],` + edits + `}`, []string{"tools[1]", "tools[2]", "context_management"}},
		{"/v1/responses/input_tokens", `{"input":"hi","tools":[{"type":"web_search"}]}`, []string{"tools[0]"}},
		{"/v1/responses", `{"max_output_tokens":3,"input":[{"role":"user","content":"hi"},{"type":"web_search_call","status":"completed","action":{"type":"search","query":"x"}},` +
			`{"type":"tool_search_call","call_id":"c","execution":"client","arguments":{"query":"x"}},{"type":"compaction","encrypted_content":"x"}]}`, []string{"input[1]", "input[2]", "input[3]"}},
		{"/v1/chat/completions/input_tokens", `{` + messages + `,"tools":[{"type":"web_search"}]}`, []string{"tools[0]"}},
		{"/apply-template", `{` + messages + `,"tools":[{"type":"web_search"}],` + edits + `}`, []string{"tools[0]", "context_management"}},
		{"/api/chat", `{"options":{"num_predict":3},` + messages + `,"tools":[{"type":"web_search"}]}`, []string{"tools[0]"}},
	} {
		status, header, text := r.call("POST", c.path, c.body)
		var want []string
		for _, field := range c.fields {
			want = append(want, `199 penstock "`+field+` is left out: this server does not act on it"`)
		}
		if diff := cmp.Diff(want, header.Values("Warning")); status != 200 || diff != "" {
			t.Errorf("%s %s: %d %s (-want +got):\n%s", c.path, c.body, status, text, diff)
		}
	}
	// A choice of what is left out can still not be kept.
	r.refused("/v1/chat/completions", `{`+messages+`,"tools":[{"type":"web_search"}],"tool_choice":"required"}`, 400, "invalid_value", "tool_choice")
}

// A long conversation may have many items that count for nothing; a client takes so many headers.
func TestAPI_LeftOut_ManyAreToldInFew(t *testing.T) {
	r := newRig(t, nil)
	items := strings.Repeat(`{"type":"web_search_call"},`, 40)
	status, header, text := r.call("POST", "/v1/responses", `{"max_output_tokens":1,"input":[`+items+`{"role":"user","content":"hi"}]}`)
	if told := header.Values("Warning"); status != 200 || len(told) != 17 || told[16] != `199 penstock "24 more fields are left out"` {
		t.Errorf("%d %s %q", status, text, told)
	}
}

// Over the WebSocket, which has no headers for an answer, its first frame tells.
func TestSocket_LeftOut_IsTold(t *testing.T) {
	r := newRig(t, nil)
	p := r.dial()
	p.send(`{"type":"generate","id":"a","request":{"max_tokens":1,"messages":[{"role":"user","content":"hi"}],"tools":[{"type":"web_search"}],"context_management":{"edits":[]}}}`)
	want := []string{"tools[0] is left out: this server does not act on it", "context_management is left out: this server does not act on it"}
	if diff := cmp.Diff(want, p.until("started").Warnings); diff != "" {
		t.Error(diff)
	}
	p.until("end")
	p.send(`{"type":"generate","id":"b","request":{"max_tokens":1,"prompt":"hi"}}`)
	if f := p.until("started"); f.Warnings != nil {
		t.Errorf("got %q", f.Warnings)
	}
}
