// SPDX-License-Identifier: MIT

package api

import (
	"strings"
	"testing"
)

// A last message of the assistant that says nothing is no prefill, in whichever dialect it comes:
// the prompt is that of the rest, which the toy model's template makes of 8 bytes.
func TestAPI_EmptyEnd_IsNoPrefill(t *testing.T) {
	const prompt = "user:hi\n"
	r := newRig(t, nil)
	for _, c := range []struct{ path, body, says string }{
		{"/apply-template", `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":END}]}`, `"prompt":"user:hi\n"`},
		{"/v1/chat/completions", `{"max_tokens":1,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":END}]}`, `"prompt_tokens":8,`},
		{"/v1/messages/count_tokens", `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":END}]}`, `"input_tokens":8`},
		{"/v1/responses/input_tokens", `{"input":[{"role":"user","content":"hi"},{"role":"assistant","content":END}]}`, `"input_tokens":8`},
		{"/api/chat", `{"stream":false,"options":{"num_predict":1},"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":END}]}`, `"prompt_eval_count":8,`},
	} {
		for _, end := range []string{`""`, `[{"type":"text","text":""}]`} {
			if c.path == "/api/chat" && end != `""` {
				continue // Ollama's content is a text
			}
			body := strings.ReplaceAll(c.body, "END", end)
			if status, _, text := r.call("POST", c.path, body); status != 200 || !strings.Contains(text, c.says) {
				t.Errorf("%s %s: %d %s, want %s of %d bytes", c.path, end, status, text, c.says, len(prompt))
			}
		}
	}
}
