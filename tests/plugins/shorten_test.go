// SPDX-License-Identifier: MIT

package plugins

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin/session"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/tests/hosts"
)

// The oldest questions are left out where the prompt, as the model's own template makes it, is too
// long; the model then answers the rest.
func TestShorten_BuiltInModel(t *testing.T) {
	h := hosts.SharedWithExamples(t, "shorten")
	turn := func(n int) string {
		return fmt.Sprintf(`{"role":"user","content":"What is %d plus 1?"},{"role":"assistant","content":"%d plus 1 is %d."},`, n, n, n+1)
	}
	const system, last = `{"role":"system","content":"Be brief."},`, `{"role":"user","content":"What is the capital of Japan?"}`
	prompt := func(messages, more string) string {
		t.Helper()
		status, body := hosts.Post(t, h.URL()+"/apply-template", `{"messages":[`+messages+`]`+more+`}`)
		var answer struct{ Prompt string }
		if err := json.Unmarshal([]byte(body), &answer); err != nil || status != 200 {
			t.Fatal(status, body)
		}
		return answer.Prompt
	}
	all := system + turn(1) + turn(2) + turn(3) + last
	shortened := func(bytes int) string {
		return fmt.Sprintf(`,"plugins":[{"name":"shorten","config":{"bytes":%d}}]`, bytes)
	}
	for kept, messages := range []string{system + last, system + turn(3) + last, system + turn(2) + turn(3) + last, all} {
		want := prompt(messages, "")
		if got := prompt(all, shortened(len(want))); got != want {
			t.Errorf("%d turns fit: %q, want %q", kept, got, want)
		}
	}
	if status, body := hosts.Post(t, h.URL()+"/v1/chat/completions", `{"messages":[`+all+`]`+shortened(20)+`}`); status != 400 || !strings.Contains(body, "config.bytes allows 20") {
		t.Errorf("%d %s", status, body)
	}

	f := recorded(t, h, "/v1/chat/completions", `{"messages":[`+all+`],"max_tokens":5,"record":true`+shortened(len(prompt(system+last, "")))+`}`)
	texts := callsOf(f, "shorten", func(c *session.Call) bool {
		for i := range c.Deeds {
			if d := &c.Deeds[i]; d.Do == abi.ImportPrompt && d.Got != nil && d.Got.Text != nil && strings.Contains(string(*d.Got.Text), "Japan") {
				return true
			}
		}
		return false
	})
	if texts != 1 {
		t.Errorf("%d calls have the prompt's text in the recording", texts)
	}
	if d := replay(t, f, hosts.Example(t, "shorten"), 2); d != nil {
		t.Error(d)
	}
}

// The number that the ABI's document gives.
func TestPrompt_BuiltInModel_AsTheDocumentSays(t *testing.T) {
	h := hosts.SharedWithExamples(t, "shorten")
	_, body := hosts.Post(t, h.URL()+"/apply-template", `{"messages":[{"role":"user","content":"Hi"}]}`)
	var answer struct{ Prompt string }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || answer.Prompt != "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n" || len(answer.Prompt) != 52 {
		t.Errorf("%d bytes: %s", len(answer.Prompt), body)
	}
}
