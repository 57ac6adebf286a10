// SPDX-License-Identifier: MIT

package api

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/tests/hosts"
)

// thinkingHost has the built-in model under a template with <think>, so that its answers are
// reasoning until something ends that.
func thinkingHost(t *testing.T) *host.Host {
	t.Helper()
	found, err := filepath.Glob("../../build/llama.cpp/source-*/models/templates/Qwen-Qwen3-0.6B.jinja")
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	return hosts.OpenWithPlugins(t, map[string]any{"chat.template_file": found[0]}, map[string][]byte{"reasoning-budget.wasm": hosts.Example(t, "reasoning-budget")})
}

// A plugin that is told which part of a conversation's answer a token is in ends the reasoning
// after so many tokens; the rest is content.
func TestPart_ReasoningBudget_OverHTTP(t *testing.T) {
	h := thinkingHost(t)
	for _, budget := range []int{3, 12} {
		body := fmt.Sprintf(`{%s,"max_tokens":40,"temperature":0,"ignore_eos":true,"chat_template_kwargs":{"enable_thinking":true},"reasoning_format":"deepseek",
			"messages":[{"role":"user","content":"Tell me a story about a frog."},{"role":"assistant","content":"<think>\nOnce"}],
			"plugins":[{"name":"reasoning-budget","config":{"tokens":%d}}]}`, `"seed":1`, budget)
		status, raw := hosts.Post(t, h.URL()+"/v1/chat/completions", body)
		var answer struct {
			Choices []struct {
				Message struct {
					Content          string
					ReasoningContent string `json:"reasoning_content"`
				}
			}
		}
		if err := json.Unmarshal([]byte(raw), &answer); err != nil || status != 200 || len(answer.Choices) != 1 {
			t.Fatal(status, raw)
		}
		m := answer.Choices[0].Message
		_, counted := hosts.Post(t, h.URL()+"/tokenize", fmt.Sprintf(`{"content":%q}`, m.ReasoningContent))
		var tokens struct{ Tokens []int }
		if err := json.Unmarshal([]byte(counted), &tokens); err != nil {
			t.Fatal(err)
		}
		if m.Content == "" || strings.Contains(m.Content+m.ReasoningContent, "think>") || len(tokens.Tokens) < budget-2 || len(tokens.Tokens) > budget+3 {
			t.Errorf("a budget of %d: %d tokens of reasoning %q, content %q", budget, len(tokens.Tokens), m.ReasoningContent, m.Content)
		}
	}
}
