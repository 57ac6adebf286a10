// SPDX-License-Identifier: MIT

package api

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// generated is what lm-evaluation-harness reads of an answer to generate_until: parse_generations
// of its openai_completions.py.
func generated(t *testing.T, h *host.Host, route string, body map[string]any) []string {
	t.Helper()
	text := must.Get(json.Marshal(body))(t)
	status, answer := hosts.Post(t, h.URL()+route, string(text))
	var a struct {
		Choices []struct {
			Index   int
			Text    *string
			Message struct{ Content *string }
		}
	}
	if err := json.Unmarshal([]byte(answer), &a); err != nil || status != 200 {
		t.Fatalf("%s %s: %d %s", route, text, status, answer)
	}
	texts := make([]string, len(a.Choices))
	for _, c := range a.Choices {
		said := c.Text
		if strings.Contains(route, "chat") {
			said = c.Message.Content
		}
		if said == nil {
			t.Fatalf("%s: no text in %s", route, answer)
		}
		texts[c.Index] = *said
	}
	return texts
}

// lm-evaluation-harness's generate_until is answered as it is asked: by local-completions with
// texts or tokens, alone or in a batch, and by local-chat-completions. An answer ends before the
// first of the stop sequences, and has the same text in all of these ways.
func TestHost_GenerateUntil_OfTheHarness(t *testing.T) {
	const path = hosts.BuiltIn
	h := hosts.Open(t, map[string]any{"model.path": path})
	hosts.Run(t, h)
	prompts := []string{"Once upon a time there was a little frog.", "The sun was warm and"}
	_, tokens := tokenised(t, path, prompts)
	// As _create_payload of both writes it; what a task's generation_kwargs have besides goes
	// along.
	body := func(field string, prompt any, until ...string) map[string]any {
		return map[string]any{field: prompt, "model": "any", "max_tokens": 24, "temperature": 0, "stop": append(until, "<|endoftext|>"), "seed": 1234, "ignore_eos": true}
	}
	free := generated(t, h, "/v1/completions", body("prompt", prompts))
	for i, prompt := range prompts {
		if len(free[i]) < 20 {
			t.Fatalf("%q is no answer to stop", free[i])
		}
		until := free[i][8:12]
		want, _, _ := strings.Cut(free[i], until)
		for name, prompt := range map[string]any{"a text": prompt, "tokens": tokens[i], "a batch of tokens": [][]int32{tokens[i], tokens[i]}} {
			for _, got := range generated(t, h, "/v1/completions", body("prompt", prompt, "\n\nQ:", until)) {
				if got != want {
					t.Errorf("%s until %q: %q, want %q", name, until, got, want)
				}
			}
		}
	}
	messages := []map[string]string{{"role": "user", "content": "Tell me a story about a frog."}}
	said := generated(t, h, "/v1/chat/completions", body("messages", messages))[0]
	if len(said) < 12 {
		t.Fatalf("%q is no answer to stop", said)
	}
	until := said[4:8]
	want, _, _ := strings.Cut(said, until)
	if got := generated(t, h, "/v1/chat/completions", body("messages", messages, until))[0]; got != want {
		t.Errorf("chat until %q: %q, want %q", until, got, want)
	}
}
