// SPDX-License-Identifier: MIT

package api

import (
	"fmt"
	"strings"
	"testing"

	"github.com/penstock/penstock/tests/hosts"
)

// The cells are many more than one conversation may have: 1,024 is what the built-in model was
// trained for.
func TestHost_Context_IsOneConversations(t *testing.T) {
	h := hosts.Open(t, map[string]any{"model.ctx_size": "4096", "model.kv_layout": "shared"})
	hosts.Run(t, h)
	if text := hosts.Get(t, h.URL()+"/props"); strings.Count(text, `"n_ctx":1024`) == 0 || strings.Contains(text, `"n_ctx":4096`) {
		t.Errorf("props: %s", text)
	}
	prompt := strings.Repeat("1,", 1023) + "1"
	status, text := hosts.Post(t, h.URL()+"/v1/completions", `{"max_tokens":1,"prompt":[`+prompt+`]}`)
	if status != 400 || !strings.Contains(text, "context_length_exceeded") || !strings.Contains(text, "1024") {
		t.Errorf("1,024 tokens: %d %s", status, text)
	}
	status, text = hosts.Post(t, h.URL()+"/v1/completions", fmt.Sprintf(`{"prompt":[%s],"ignore_eos":true}`, prompt[2*4:]))
	if status != 200 || !strings.Contains(text, `"finish_reason":"length"`) || !strings.Contains(text, `"total_tokens":1024`) {
		t.Errorf("1,020 tokens: %d %s", status, text)
	}
}
