// SPDX-License-Identifier: MIT

package api

import (
	"strings"
	"testing"
)

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

// So are those within values that each dialect reads in its own way: tokens, biases, triggers, the
// context of an earlier answer.
func TestAPI_Integers_WithinValues(t *testing.T) {
	r := newRig(t, nil)
	for _, c := range []struct{ path, body, field string }{
		{"/v1/completions", `{"max_tokens":1,"prompt":[104,N]}`, "prompt[1]"},
		{"/v1/completions", `{"max_tokens":1,"prompt":[[104,N],[N]]}`, "prompt[0][1]"},
		{"/v1/completions", `{"max_tokens":1,"prompt":"hi","logit_bias":[[N,1]]}`, "logit_bias"},
		{"/v1/completions", `{"max_tokens":1,"prompt":"hi","grammar":"g","grammar_lazy":true,"grammar_triggers":[{"type":0.0,"token":N}]}`, "grammar_triggers"},
		{"/completion", `{"n_predict":1,"prompt":[N,"hi"]}`, "prompt[0]"},
		{"/tokenize", `{"content":["a",N]}`, "content[1]"},
		{"/detokenize", `{"tokens":[104,N]}`, "tokens[1]"},
		{"/api/generate", `{"prompt":"hi","context":[104,N,N],"options":{"num_predict":1.0,"top_k":2e1}}`, "context"},
		{"/api/chat", `{"messages":[{"role":"user","content":"hi"}],"options":{"num_predict":N}}`, "options.num_predict"},
		{"/v1/messages", `{"max_tokens":16,"thinking":{"type":"enabled","budget_tokens":N},"messages":[{"role":"user","content":"hi"}]}`, "thinking"},
	} {
		for _, n := range []string{"5", "5.0", "5e0"} {
			if status, _, text := r.call("POST", c.path, strings.ReplaceAll(c.body, "N", n)); status != 200 {
				t.Errorf("%s %s with %s: %d %s", c.path, c.body, n, status, text)
			}
		}
		if status, _, text := r.call("POST", c.path, strings.ReplaceAll(c.body, "N", "5.5")); status != 400 || !strings.Contains(text, c.field) {
			t.Errorf("%s %s with 5.5: %d %s, want one about %s", c.path, c.body, status, text, c.field)
		}
	}
}

// So are those in frames of the WebSocket.
func TestSocket_Integers_HoweverWritten(t *testing.T) {
	r := newRig(t, nil)
	p := r.dial()
	p.send(`{"type":"generate","id":"a","detach_ms":6e4,"request":{"prompt":[104.0,105],"max_tokens":5.0}}`)
	if f := p.until("end"); f.Usage.Completion != 5 || f.Usage.Prompt != 2 {
		t.Errorf("got %+v", f)
	}
	p.send(`{"type":"generate","id":"b","detach_ms":5.5,"request":{"prompt":"x"}}`)
	if f := p.until("error"); f.Error.Param != "detach_ms" {
		t.Errorf("got %+v", f)
	}
}
