// SPDX-License-Identifier: MIT

package api

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What agents send and nothing here acts on does not keep them out: the answer is that of the rest, and a header names each field.
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
		{"/v1/messages/count_tokens", `{` + messages + `,` + edits + `}`, []string{"context_management"}},
		{"/v1/messages", `{"stream":true,` + messages + `,"tools":[{"type":"web_search_20250305","name":"web_search"}],` + edits + `}`, []string{"tools[0]", "context_management"}},
		{"/v1/chat/completions", `{` + messages + `,` + edits + `}`, []string{"context_management"}},
		{"/v1/chat/completions", `{` + messages + `,"tools":[{"type":"web_search"},{"type":"custom","custom":{"name":"g"}},` + tool + `]}`, []string{"tools[0]", "tools[1]"}},
		{"/v1/responses", `{"input":"hi","max_output_tokens":3,"tools":[{"type":"function","name":"f"},{"type":"namespace","name":"n","tools":[]},` +
			`{"type":"custom","name":"c"}],` + edits + `}`, []string{"tools[1]", "tools[2]", "context_management"}},
		{"/v1/responses/input_tokens", `{"input":"hi","tools":[{"type":"web_search"}]}`, []string{"tools[0]"}},
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
