// SPDX-License-Identifier: MIT

package api

import (
	"fmt"
	"strings"
	"testing"
)

// Clients shorten their conversation where they find the words of the API that they speak, and its
// numbers.
func TestAPI_TooLong_InTheDialectsWords(t *testing.T) {
	const llama, openai = `exceeds the available context size (%d tokens)`, `maximum context length is %d tokens`
	r := newRig(t, func(s *setup) { s.BodyLimit = 4 << 20 })
	for _, c := range []struct {
		path, body string
		words      []string
	}{
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":"LONG"}]}`, []string{llama, openai, `"code":"context_length_exceeded"`, `"n_ctx":%d`}},
		{"/v1/completions", `{"prompt":"LONG"}`, []string{llama, openai, `"n_ctx":%d`}},
		{"/v1/responses", `{"input":"LONG"}`, []string{llama, openai, `"code":"context_length_exceeded"`}},
		{"/v1/messages", `{"max_tokens":1,"messages":[{"role":"user","content":"LONG"}]}`, []string{"prompt is too long: ", `%d`}},
		{"/api/chat", `{"messages":[{"role":"user","content":"LONG"}]}`, []string{llama}},
		{"/api/generate", `{"prompt":"LONG","raw":true}`, []string{llama}},
		{"/completion", `{"prompt":"LONG"}`, []string{llama, `"type":"exceed_context_size_error"`, `"n_ctx":%d`}},
	} {
		for _, n := range []int{contextSize, 2 << 20} { // the second is refused before it is tokenised
			status, _, text := r.call("POST", c.path, strings.ReplaceAll(c.body, "LONG", strings.Repeat("x", n)))
			for _, words := range c.words {
				if words = strings.ReplaceAll(words, "%d", fmt.Sprint(contextSize)); status != 400 || !strings.Contains(text, words) {
					t.Errorf("%s, %d characters: %d %s, want %s", c.path, n, status, text, words)
				}
			}
			if tokens := strings.Contains(text, `n_prompt_tokens`); c.path == "/completion" && tokens != (n == contextSize) {
				t.Errorf("%s: %s", c.path, text)
			}
		}
	}
}

// So they do where a conversation has more messages than the context has tokens, which shows
// before a template is asked.
func TestAPI_TooManyMessages_AreTooLong(t *testing.T) {
	const llama, number = `exceeds the available context size (2048 tokens)`, `"n_ctx":2048`
	r := newRig(t, func(s *setup) { s.BodyLimit = 4 << 20 })
	many := strings.TrimSuffix(strings.Repeat(`{"role":"user","content":"x"},`, contextSize+1), ",")
	for _, c := range []struct {
		path, body string
		words      []string
	}{
		{"/v1/chat/completions", `{"messages":[MANY]}`, []string{llama, number, `"code":"context_length_exceeded"`}},
		{"/v1/responses", `{"input":[MANY]}`, []string{llama, number, `"code":"context_length_exceeded"`}},
		{"/v1/messages", `{"max_tokens":1,"messages":[MANY]}`, []string{"prompt is too long: ", "2048"}},
		{"/api/chat", `{"messages":[MANY]}`, []string{llama}},
		{"/apply-template", `{"messages":[MANY]}`, []string{llama, number, `"type":"exceed_context_size_error"`}},
	} {
		status, _, text := r.call("POST", c.path, strings.ReplaceAll(c.body, "MANY", many))
		for _, words := range c.words {
			if status != 400 || !strings.Contains(text, words) {
				t.Errorf("%s: %d %.400s, want %s", c.path, status, text, words)
			}
		}
	}
}
