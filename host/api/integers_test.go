// SPDX-License-Identifier: MIT

package api

import "testing"

// 5.0 and 1e1 are integers by JSON Schema, in every dialect; 5.5 is refused by name.
func TestAPI_Integers_HoweverWritten(t *testing.T) {
	const messages = `"messages":[{"role":"user","content":"hi"}]`
	r := newRig(t, nil)
	for _, c := range []struct{ path, before, after, field string }{
		{"/v1/chat/completions", `{"temperature":0,"max_tokens":`, `,` + messages + `}`, "max_tokens"},
		{"/v1/completions", `{"prompt":"hi","max_tokens":`, `}`, "max_tokens"},
		{"/v1/responses", `{"input":"hi","max_output_tokens":`, `}`, "max_output_tokens"},
		{"/v1/messages", `{"max_tokens":`, `,` + messages + `}`, "max_tokens"},
		{"/completion", `{"prompt":"hi","top_k":3.0,"n_predict":`, `}`, "n_predict"},
	} {
		for _, n := range []string{"5.0", "1e1"} {
			if status, _, text := r.call("POST", c.path, c.before+n+c.after); status != 200 {
				t.Errorf("%s %s: %d %s", c.path, n, status, text)
			}
		}
		r.refused(c.path, c.before+"5.5"+c.after, 400, "invalid_type", c.field)
	}
	if status, _, text := r.call("POST", "/api/chat", `{"options":{"num_predict":5.0},`+messages+`}`); status != 200 {
		t.Errorf("/api/chat: %d %s", status, text)
	}
}
