// SPDX-License-Identifier: MIT

package api

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// What an answer goes on with stands in the prompt alike whichever dialect it came by: parts
// joined as the template joins those of earlier messages, and no empty reasoning before a message
// that brings its own.
func TestHost_Prefill_InEveryDialect(t *testing.T) {
	found, err := filepath.Glob("../../build/llama.cpp/source-*/models/templates/Qwen-Qwen3-0.6B.jinja")
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	h := hosts.Open(t, map[string]any{"chat.template_file": found[0]})
	hosts.Run(t, h)
	const before, empty = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n", "<think>\n\n</think>\n\n"
	said := func(text string) string { return fmt.Sprintf("%q", text) }
	for name, c := range map[string]struct{ content, prompt string }{
		"a text":                   {said("One,\ntwo,"), before + empty + "One,\ntwo,"},
		"parts":                    {`[{"type":"text","text":"One,"},{"type":"text","text":"two,"}]`, before + empty + "One,\ntwo,"},
		"its own reasoning":        {said("<think>\nHm.\n</think>\n\nOne,"), before + "<think>\nHm.\n</think>\n\nOne,"},
		"its own reasoning, open":  {said("<think>\nHm"), before + "<think>\nHm"},
		"reasoning, then in parts": {`[{"type":"text","text":"<think>\nHm.\n</think>"},{"type":"text","text":"One,"}]`, before + "<think>\nHm.\n</think>\nOne,"},
	} {
		messages := `"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":` + c.content + `}]`
		status, text := hosts.Post(t, h.URL()+"/apply-template", `{`+messages+`}`)
		var rendered struct{ Prompt string }
		if err := json.Unmarshal([]byte(text), &rendered); err != nil || status != 200 || rendered.Prompt != c.prompt {
			t.Errorf("%s: %d %s, want %q", name, status, text, c.prompt)
		}
		wanted := must.Get(json.Marshal(map[string]any{"content": c.prompt, "add_special": true, "parse_special": true}))(t)
		_, text = hosts.Post(t, h.URL()+"/tokenize", string(wanted))
		var tokens struct{ Tokens []int }
		if err := json.Unmarshal([]byte(text), &tokens); err != nil || len(tokens.Tokens) == 0 {
			t.Fatal(err, text)
		}
		count := len(tokens.Tokens)
		for path, body := range map[string][2]string{
			"/v1/chat/completions/input_tokens": {`{` + messages + `}`, `"input_tokens":%d`},
			"/v1/chat/completions":              {`{"max_tokens":1,` + messages + `}`, `"prompt_tokens":%d,`},
			"/v1/messages/count_tokens":         {`{` + messages + `}`, `"input_tokens":%d`},
			"/v1/messages":                      {`{"max_tokens":1,"cache_prompt":false,` + messages + `}`, `"input_tokens":%d,`},
			"/v1/responses/input_tokens":        {`{` + strings.Replace(messages, "messages", "input", 1) + `}`, `"input_tokens":%d`},
			"/api/chat":                         {`{"stream":false,"options":{"num_predict":1},` + messages + `}`, `"prompt_eval_count":%d,`},
		} {
			if path == "/api/chat" && c.content[0] == '[' {
				continue // Ollama's content is a text
			}
			status, text := hosts.Post(t, h.URL()+path, body[0])
			if want := fmt.Sprintf(body[1], count); status != 200 || !strings.Contains(text, want) {
				t.Errorf("%s %s: %d %s, want %s", path, name, status, text, want)
			}
		}
		socket := hosts.Dial(t, h)
		socket.Send(`{"type":"generate","id":"a","request":{"max_tokens":1,` + messages + `}}`)
		var started struct {
			Type   string
			Prompt int `json:"prompt_tokens"`
		}
		for started.Type != "started" {
			_, data := must.Both(socket.Conn.Read(t.Context()))(t)
			if err := json.Unmarshal(data, &started); err != nil || started.Type == "error" {
				t.Fatal(err, string(data))
			}
		}
		if started.Prompt != count {
			t.Errorf("over the WebSocket, %s: %d tokens, want %d", name, started.Prompt, count)
		}
	}
}
