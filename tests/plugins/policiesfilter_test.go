// SPDX-License-Identifier: MIT

package plugins

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/host/receipt"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// veil is a filter that shows a star in the place of every text.
func veil(name string) []byte {
	const at, room = 4096, 8192
	g := asm.New(`{"name":"`+name+`"}`).Put(at, "*")
	g.On(abi.ExportOpen, g.Bind(abi.BufferText, at+64, room), asm.I32(0))
	return g.On(abi.ExportFilter, asm.I32(at), asm.I32(1), g.Call(abi.ImportEmit), asm.I32(0)).Wasm()
}

// concealed is the only token of answers that openVeiled gives.
const concealed = 378

// openVeiled opens a host on which every answer is the same token, again and again, and a required
// policy conceals it.
func openVeiled(t *testing.T) *host.Host {
	t.Helper()
	key := must.Get(receipt.NewKey())(t)
	text, err := key.PEM()
	path := filepath.Join(t.TempDir(), "key.pem")
	must.Do(t, errors.Join(err, os.WriteFile(path, text, 0o600)))
	return hosts.OpenWithPlugins(t, map[string]any{"plugins.policy_file": attached(t, "policies: [{plugin: always, mode: default}, {plugin: veil, config: {a: 17}}]"),
		"plugins.scripts": "on", "recordings.dir": t.TempDir(), "receipts.key_file": path},
		map[string][]byte{"always.wasm": hosts.Always("always", concealed), "veil.wasm": veil("veil"), "other.wasm": veil("other")})
}

// told finds the concealed token by its id.
var told = regexp.MustCompile(fmt.Sprintf(`[\[,:]%d[\],}]`, concealed))

// What a required policy filters is told a client in no other way: each is refused, or leaves the
// tokens out.
func TestPolicies_Filter_IsNotGoneRound(t *testing.T) {
	h := openVeiled(t)
	text := strings.TrimSpace(hosts.Piece(t, concealed))
	script := func(source string) string {
		return `"plugins":[` + scripted(t, source, map[string]any{"name": "mine"}) + `]`
	}
	for name, tc := range map[string]struct{ path, fields, says string }{
		"a chat":                        {"/v1/chat/completions", hosts.Frog, ""},
		"a stream":                      {"/v1/chat/completions", hosts.Frog + `,"stream":true`, ""},
		"several answers":               {"/v1/completions", `"prompt":["Once","There"],"n":2,"echo":true`, ""},
		"tokens in llama-server's":      {"/completion", `"prompt":"Once","stream":true`, ""},
		"llama-server's verbose answer": {"/v1/chat/completions", hosts.Frog + `,"verbose":true`, ""},
		"Ollama's context":              {"/api/generate", `"prompt":"Once","stream":false,"options":{"num_predict":4}`, ""},
		"Anthropic's":                   {"/v1/messages", hosts.Frog, ""},
		"Responses":                     {"/v1/responses", `"input":"Once"`, ""},
		"its last tokens":               {"/v1/completions", `"prompt":"Once","preserved_tokens":["</s>"]`, ""},
		"log-probabilities":             {"/v1/chat/completions", hosts.Frog + `,"logprobs":true,"top_logprobs":3`, "logprobs shows"},
		"of a text":                     {"/v1/completions", `"prompt":"Once","logprobs":1`, "logprobs shows"},
		"with the prompt's":             {"/v1/completions", `"prompt":"Once","logprobs":1,"echo":true`, "logprobs shows"},
		"in llama-server's words":       {"/completion", `"prompt":"Once","n_probs":2`, "n_probs shows"},
		"after sampling":                {"/completion", `"prompt":"Once","n_probs":2,"post_sampling_probs":true`, "n_probs shows"},
		"in Ollama's words":             {"/api/chat", hosts.Frog + `,"logprobs":true,"stream":false`, "logprobs shows"},
		"in Responses":                  {"/v1/responses", `"input":"Once","include":["message.output_text.logprobs"]`, "include shows"},
		"tokens, asked for":             {"/completion", `"prompt":"Once","return_tokens":true`, "return_tokens shows"},
		"a trace":                       {"/v1/chat/completions", hosts.Frog + `,"trace":true`, "trace shows"},
		"a recording":                   {"/v1/chat/completions", hosts.Frog + `,"record":true`, "record shows"},
		"a plugin that tells tokens":    {"/v1/completions", `"prompt":"Once",` + script(`export function accept(t) { penstock.output({t}); }`), "before plugin"},
		"a rule that tells the text":    {"/v1/completions", `"prompt":"Once",` + script(`export function stop(text) { throw new Error(text); }`), "before plugin"},
		"a module's words in a fault":   {"/v1/completions", `"prompt":"Once",` + script(`export function sample(c) { throw new Error(c.text(0)); }`), "before plugin"},
		"another filter":                {"/v1/completions", `"prompt":"Once","plugins":["other"]`, "changes the text that is shown"},
	} {
		t.Run(name, func(t *testing.T) {
			body := `{` + tc.fields + `,"temperature":0}`
			if !strings.HasPrefix(tc.path, "/api/") && tc.path != "/v1/responses" {
				body = `{"max_tokens":4,` + body[1:]
			} else if tc.path == "/v1/responses" {
				body = `{"max_output_tokens":4,` + body[1:]
			}
			status, answer := hosts.Post(t, h.URL()+tc.path, body)
			if told.MatchString(answer) || strings.Contains(answer, text) {
				t.Errorf("it tells the token: %s", answer)
			}
			if want := map[bool]int{true: 200, false: 400}[tc.says == ""]; status != want || !strings.Contains(answer, tc.says) || tc.says == "" && !strings.Contains(answer, "*") {
				t.Errorf("%d %s", status, answer)
			}
		})
	}
	c := hosts.Dial(t, h)
	c.Send(`{"type":"generate","id":"a","request":{"prompt":"Once"}}`)
	c.Until("token")
	c.Send(`{"type":"pause","id":"a"}`)
	c.Send(`{"type":"fork","id":"a","as":"b","sampling":{"samplers":["plugin:other"]}}`)
	if f := c.Until("error"); !strings.Contains(f.Error.Message, "changes the text that is shown") {
		t.Errorf("%+v", f)
	}
}

// A receipt tells of a policy its plugin, and hides its configuration; its digest is of the text
// that was shown.
func TestPolicies_Receipt_OfShownText(t *testing.T) {
	h := openVeiled(t)
	_, answer := hosts.Post(t, h.URL()+"/v1/completions", `{"prompt":"Once","max_tokens":4,"receipt":true}`)
	var said struct {
		Receipt string
		Choices []struct{ Text string }
	}
	if err := json.Unmarshal([]byte(answer), &said); err != nil {
		t.Fatalf("%s: %v", answer, err)
	}
	parts := strings.Split(said.Receipt, ".")
	if len(parts) != 3 {
		t.Fatal(answer)
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	var s receipt.Statement
	if err == nil {
		err = json.Unmarshal(payload, &s)
	}
	if err != nil || len(s.Plugins) != 2 || len(s.Choices) != 1 {
		t.Fatalf("%s: %v", payload, err)
	}
	for i, name := range []string{"always", "veil"} {
		if p := s.Plugins[i]; p.Name != name || p.SHA256 == "" || p.ConfigHMAC == "" || p.ConfigSHA256 != "" {
			t.Errorf("plugin %d is %+v", i, p)
		}
	}
	if shown := said.Choices[0].Text; s.Choices[0].TextSHA256 != receipt.Digest([]byte(shown)) || !strings.HasPrefix(shown, "**") {
		t.Errorf("%q and %s", shown, payload)
	}
}

// A field of another server's API configures a default, and no required policy.
func TestPolicies_ReadyFields_ConfigureDefaultsAlone(t *testing.T) {
	const chooses = `export const plugin = {view: "none"}; export function sample() { return config.phrases || config.min_count ? 304 : 300; }`
	h := hosts.OpenWithPlugins(t, map[string]any{"server.api_key_file": keyFile(t, "alice", "bob"), "plugins.policy_file": attached(t, `
policies:
- {plugin: banned-phrases, keys: [alice]}
- {plugin: repetition-stop, keys: [alice]}
- {plugin: banned-phrases, keys: [bob], mode: default}
`)}, map[string][]byte{"banned-phrases.js": []byte(chooses), "repetition-stop.js": []byte(chooses)})
	for field, value := range map[string]string{"banned_strings": `["x"]`, "banned_regex": `"x"`, "repetition_detection": `{"max_pattern_size":4,"min_count":3}`} {
		body := `{"prompt":"Once","max_tokens":1,"` + field + `":` + value + `}`
		if status, _, text := sendAs(t, h, "alice", "/v1/completions", body); status != 400 || !strings.Contains(text, `"param":"`+field+`"`) || !strings.Contains(text, field+" configures plugin") {
			t.Errorf("required: %d %s", status, text)
		}
	}
	for fields, token := range map[string]int{"": 300, `,"banned_strings":"x"`: 304} {
		if status, _, text := sendAs(t, h, "bob", "/v1/completions", `{"prompt":"Once","max_tokens":1`+fields+`}`); status != 200 || !strings.Contains(text, `"text":"`+hosts.Piece(t, token)+`"`) {
			t.Errorf("a default with %s: %d %s", fields, status, text)
		}
	}
}

// A policy that rewrites messages and puts back what it took out has no prompt without messages.
func TestPolicies_PII_NeedsMessages(t *testing.T) {
	h := hosts.OpenWithPlugins(t, map[string]any{"plugins.policy_file": attached(t, "policies: [{plugin: pii}]")}, map[string][]byte{"pii.wasm": hosts.Example(t, "pii")})
	for path, says := range map[string]string{"/v1/completions": "prompt is not made of messages", "/completion": "prompt is not made of messages"} {
		if status, text := hosts.Post(t, h.URL()+path, `{"prompt":"I am ann@example.org"}`); status != 400 || !strings.Contains(text, says) {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	if status, text := hosts.Post(t, h.URL()+"/v1/chat/completions", `{`+hosts.Frog+`,"max_tokens":2}`); status != 200 {
		t.Errorf("%d %s", status, text)
	}
}
