// SPDX-License-Identifier: MIT

package peer

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// Flags of llama-server that say how conversations are rendered do the same here.
func TestTemplateFlags_RenderAsLlamaServer(t *testing.T) {
	found, err := filepath.Glob(inRepository(t, "build/llama.cpp/source-*/models/templates/Qwen-Qwen3-0.6B.jinja"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	qwen := found[0]
	for _, c := range []struct {
		name  string
		flags []string
		keys  map[string]any
	}{
		{"arguments", []string{"--chat-template-file", qwen, "--chat-template-kwargs", `{"enable_thinking":false,"x":[1]}`},
			map[string]any{"chat.template_file": qwen, "chat.template_kwargs": `{"enable_thinking":false,"x":[1]}`}},
		{"no reasoning", []string{"--chat-template-file", qwen, "--reasoning", "off"}, map[string]any{"chat.template_file": qwen, "chat.reasoning": "off"}},
		{"reasoning", []string{"--chat-template-file", qwen, "-rea", "on"}, map[string]any{"chat.template": qwen, "chat.reasoning": "on"}},
		{"no prefill", []string{"--chat-template-file", qwen, "--no-prefill-assistant"}, map[string]any{"chat.template_file": qwen, "chat.prefill_assistant": "false"}},
		{"reasoning format", []string{"--chat-template-file", qwen, "--reasoning-format", "none"}, map[string]any{"chat.template_file": qwen, "chat.reasoning_format": "none"}},
		{"chatml", []string{"--chat-template", "chatml"}, map[string]any{"chat.template": "chatml"}},
		{"a name", []string{"--no-jinja", "--chat-template", "llama3"}, map[string]any{"chat.template": "llama3"}},
		{"Jinja", []string{"--chat-template", "{{ messages[0].content }}"}, map[string]any{"chat.template": "{{ messages[0].content }}"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			peer, ours := LlamaServer(t, BuiltIn, c.flags...), Penstock(t, BuiltIn, c.keys)
			needs := ""
			if c.name == "chatml" || c.name == "a name" { // which know no calls
				needs = "calls as text"
			}
			for _, conversation := range conversations {
				if saidOtherwise(conversation.name, needs) {
					continue
				}
				if c.name == "Jinja" && strings.Count(conversation.body, `"role"`) > 1 { // it has a place for one message, so others are refused
					continue
				}
				compareRendering(t, conversation.name, peer.Call(t, http.MethodPost, "/apply-template", conversation.body),
					ours.Call(t, http.MethodPost, "/apply-template", conversation.body))
			}
		})
	}
}
