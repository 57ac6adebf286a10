// SPDX-License-Identifier: MIT

package plugins

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/plugin/session"
	"github.com/penstock/penstock/tests/hosts"
)

// writesText has an answer be the text of its configuration.
const writesText = `let begun = false;
export const plugin = {place: "first"};
export function prepare(p) { if (!begun) p.force(config.text); begun = true; }`

// Log-probabilities are of the model's own tokens. The model reads placeholders, and clients of
// each API read the originals: in streams and at once, in each choice, up to a stop string of what
// the model writes, in reasoning and in calls of tools. What the filter did is in the recording,
// and a replay does it again.
func TestPII_EachWay_ClientReadsItsOwn(t *testing.T) {
	pii := hosts.Example(t, "pii")
	h := hosts.OpenWithPlugins(t, nil, map[string][]byte{"pii.wasm": pii})
	says := func(text string) string {
		return `"plugins":[` + scripted(t, writesText, map[string]any{"config": map[string]any{"text": text}, "name": "writes"}) + `,"pii"]`
	}
	const user = `{"role":"user","content":"I am ann@example.org, 10.0.0.1"}`
	body := func(fields string) string { return `{"messages":[` + user + `],` + fields + `}` }
	if _, prompt := hosts.Post(t, h.URL()+"/apply-template", body(`"plugins":["pii"]`)); !strings.Contains(prompt, "I am [EMAIL_1], [IP_1]") || strings.Contains(prompt, "ann@") {
		t.Errorf("the model reads %s", prompt)
	}
	const text = "To [EMAIL_1] and [EMAIL_2] of [IP_1]# more"
	const want = "To ann@example.org and [EMAIL_2] of 10.0.0.1"
	answer := says(text) + `,"stop":"#","max_tokens":100`
	for path, fields := range map[string]string{"/v1/chat/completions": answer, "/v1/messages": strings.Replace(answer, `"stop":"#"`, `"stop_sequences":["#"]`, 1), "/api/chat": says(text) + `,"stream":false,"options":{"stop":["#"],"num_predict":100}`} {
		if status, got := hosts.Post(t, h.URL()+path, body(fields)); status != 200 || !strings.Contains(got, want+`"`) {
			t.Errorf("%s: %d %s", path, status, got)
		}
	}
	if got, err := hosts.Streamed(t, h, body(answer)); err != nil || got != want {
		t.Errorf("streamed: %q, %v", got, err)
	}
	status, got := hosts.Post(t, h.URL()+"/v1/chat/completions", body(answer+`,"n":2,"logprobs":true`))
	var all struct {
		Choices []struct {
			Message  struct{ Content string }
			Logprobs struct{ Content []struct{ Token string } }
		}
	}
	if err := json.Unmarshal([]byte(got), &all); err != nil || status != 200 || len(all.Choices) != 2 {
		t.Fatalf("%d %s, %v", status, got, err)
	}
	for _, c := range all.Choices {
		tokens := ""
		for _, token := range c.Logprobs.Content {
			tokens += token.Token
		}
		if c.Message.Content != want || !strings.HasPrefix(text, tokens) {
			t.Errorf("a choice: %q, of the tokens %q", c.Message.Content, tokens)
		}
	}
	thinks := says("<think>Is it [EMAIL_1]?</think>Hi [IP_1]#") + `,"stop":"#","max_tokens":100`
	if _, got := hosts.Post(t, h.URL()+"/v1/chat/completions", `{"messages":[`+user+`],"chat_template_kwargs":{"enable_thinking":true},`+thinks+`}`); !strings.Contains(got, "Is it ann@example.org?") || !strings.Contains(got, "Hi 10.0.0.1") {
		t.Errorf("reasoning: %s", got)
	}

	f := recorded(t, h, "/v1/chat/completions", body(answer+`,"record":true`))
	if n := callsOf(f, "pii", func(c *session.Call) bool {
		return c.Filtered != nil && strings.Contains(string(*c.Filtered), "10.0.0.1")
	}); n != 1 {
		t.Errorf("%d calls of the recording put the address back", n)
	}
	if d := replay(t, f, pii, 2); d != nil {
		t.Error(d)
	}
	if status, got := hosts.Post(t, h.URL()+"/v1/completions", `{"prompt":"I am ann@example.org","plugins":["pii"]}`); status != 400 || !strings.Contains(got, "rewrites messages") {
		t.Errorf("without messages: %d %s", status, got)
	}
}

// Over the WebSocket text that was put back is taken back as it was shown, wherever in a
// placeholder the client goes back to.
func TestPII_WebSocketRewinds_ShownTextIsTakenBack(t *testing.T) {
	h := hosts.OpenWithPlugins(t, nil, map[string][]byte{"always.wasm": hosts.Always("always", 300), "pii.wasm": hosts.Example(t, "pii")})
	for tokens := 1; tokens <= 9; tokens++ {
		c := hosts.Dial(t, h)
		c.Send(`{"type":"generate","id":"a","request":{"messages":[{"role":"user","content":"I am a@b.co"}],"max_tokens":200,"plugins":["always","pii"]}}`)
		c.Until("started")
		for _, frame := range []string{
			`{"type":"pause","id":"a"}`, `{"type":"inject","id":"a","text":" To [EMAIL_1]."}`, fmt.Sprintf(`{"type":"rewind","id":"a","tokens":%d}`, tokens),
			`{"type":"inject","id":"a","text":"[EMAIL_1] and [EMAIL_1]"}`, `{"type":"resume","id":"a"}`,
		} {
			c.Send(frame)
		}
		for ended := false; !ended; {
			switch f := c.Frame(); f.Type {
			case "rewound":
				if !strings.HasSuffix(c.Texts["a"], f.Removed) {
					t.Errorf("%d tokens: %q is taken back of %q", tokens, f.Removed, c.Texts["a"])
				}
				c.Texts["a"] = strings.TrimSuffix(c.Texts["a"], f.Removed)
			case "end":
				ended = true
				if text := c.Texts["a"]; !strings.Contains(text, "a@b.co and a@b.co") || strings.Contains(text, "[EMAIL_1]") || f.Reason != "length" {
					t.Errorf("%d tokens: %q, ended by %s", tokens, text, f.Reason)
				}
			}
		}
	}
}
