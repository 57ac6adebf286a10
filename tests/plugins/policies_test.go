// SPDX-License-Identifier: MIT

package plugins

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/host/plugin/session"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// The plugins of these tests are policies that let only even tokens into an answer, each by another
// means. So what has got past one can be seen in the answer.
var evens = map[string]string{
	"mask":       `const even = penstock.mask((text, t) => t % 2 === 0); export function prepare(p) { p.mask(even); }`,
	"candidates": `export const plugin = {candidates: 4096}; export function sample(c) { for (let i = 0; i < c.length; i++) if (c.ids[i] % 2) c.ban(i); }`,
	"logits":     `export const plugin = {view: "logits"}; export function sample(c) { for (let t = 1; t < c.length; t += 2) c.logits[t] = -Infinity; }`,
	"chooser":    `export const plugin = {candidates: 4096, place: "last"}; export function sample(c) { let i = 0; while (i < c.length && c.ids[i] % 2) i++; return i < c.length ? c.ids[i] : 2; }`,
	"splicer":    `export const plugin = {hold: 8}; export function accept(t) { if (t % 2) return penstock.splice(1, [t - 1]); }`,
}

// attached writes a file of policies.
func attached(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "policies.yaml")
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// keyFile writes a file of keys, each its own name.
func keyFile(t *testing.T, names ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys")
	var text strings.Builder
	for _, name := range names {
		fmt.Fprintln(&text, name, name)
	}
	must.Do(t, os.WriteFile(path, []byte(text.String()), 0o600))
	return path
}

// openEven opens a host on which a key has each policy of evens, under the policy's name, and the
// key free has none.
func openEven(t *testing.T) *host.Host {
	t.Helper()
	modules, names, file := map[string][]byte{"veil.wasm": veil("veil")}, []string{"free"}, "policies:\n"
	for name, source := range evens {
		modules[name+".js"] = []byte(source)
		names = append(names, name)
		file += fmt.Sprintf("- {plugin: %s, keys: [%s]}\n", name, name)
	}
	return hosts.OpenWithPlugins(t, map[string]any{
		"plugins.policy_file": attached(t, file), "server.api_key_file": keyFile(t, names...), "plugins.scripts": "on", "server.admin_key": "secret",
		"recordings.dir": t.TempDir(), "recordings.keep": 10000, "speculation.ngram_size_n": 2,
	}, modules)
}

var recordingID = regexp.MustCompile(`"recording":"(rec_[^"]+)"`)

// oddIn is the first odd token of the recorded answers that a text names; nil: there is none.
func oddIn(t *testing.T, h *host.Host, key, text string) *session.Chosen {
	t.Helper()
	for _, m := range recordingID.FindAllStringSubmatch(text, -1) {
		_, _, body := requestAs(t, h, key, http.MethodGet, "/v1/recordings/"+m[1], nil)
		f, err := session.Read(strings.NewReader(body))
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		for _, c := range f.Recording.Choices {
			for i := range c.Tokens {
				if c.Tokens[i].Token%2 != 0 {
					return &c.Tokens[i]
				}
			}
		}
	}
	return nil
}

// The scripts of a hostile client; %d is an odd token.
var evading = []string{
	`export function prepare(p) { p.force([%d]); }`,
	`export function prepare(p) { p.force([%[1]d + 1, %[1]d]); }`,
	`export const plugin = {place: "first"}; export function sample(c) { return %d; }`,
	`export const plugin = {place: "last"}; export function sample(c) { return %d; }`,
	`export const plugin = {view: "none"}; export function sample(c) { return %d; }`,
	`export const plugin = {view: "logits"}; export function sample(c) { c.logits[%d] = 1000; }`,
	`export const plugin = {place: "last"}; export function sample(c) { c.bias(%d, 1000); }`,
	`export const plugin = {place: "last", candidates: 64}; export function sample(c) { c.ids[0] = %d; c.logits[0] = 1000; }`,
	`export function prepare(p) { p.bias(%d, 10000); }`,
	`export function prepare(p) { p.mask([%d, %[1]d + 1]); }`,
	`export function prepare(p) { p.mask([%d]); }`,
	`export const plugin = {hold: 4, takeBack: 100}; export function accept(t) { return penstock.splice(1, [%d]); }`,
	`export const plugin = {hold: 0}; export function accept(t) { return penstock.splice(0, [%d]); }`,
	`export const plugin = {hold: 8}; let n = 0; export function accept(t) { if (n++ %% 3 === 0) return penstock.splice(1, [%[1]d + 1, %[1]d, %[1]d]); }`,
	`export function draft(n) { return [%d, %[1]d]; }`,
	`export function template(list) { return "Once upon a time"; }`,
	`export function messages(list) { return [{role: "user", content: "Hello"}]; }`,
	`export function run(r) { r.show([%d, %[1]d]); }`,
	`export function run(r) { const b = r.prompt(); r.continue(b, 5); r.adopt(b); }`,
	`export function sample(c) { throw new Error("over"); }`,
	`export function stop(text) { return "hold"; }`,
}

// request draws a request of any kind for a key with a policy; odd is a token that no answer may
// have.
func request(r *rand.Rand, policy string, odd int) (path, body string) {
	fields := map[string]any{"record": true, "seed": r.IntN(1000)}
	some := func(n int, key string, values ...any) {
		if r.IntN(n) == 0 {
			fields[key] = values[r.IntN(len(values))]
		}
	}
	some(2, "temperature", 0, 0.8, 2)
	some(4, "top_k", 0, 1, 5, 100)
	some(4, "logit_bias", map[string]any{fmt.Sprint(odd): 100}, map[string]any{fmt.Sprint(odd - 1): -100})
	some(4, "samplers", []string{}, []string{"top_k"}, []string{"temperature", "top_p"}, []string{"plugin:mine"}, []string{"top_k", "plugin:mine", "temperature"}, []string{"plugin:" + policy})
	some(6, "grammar", `root ::= "x" root | " a" root`, `root ::= [a-z ]*`)
	some(8, "regex", `[A-Z][a-z ]{3,30}`)
	some(8, "json_schema", map[string]any{"type": "object", "properties": map[string]any{"n": map[string]any{"type": "string", "maxLength": 5}}, "required": []string{"n"}})
	some(3, "ignore_eos", true)
	some(5, "trace", true)
	some(6, "mirostat", 2)
	some(6, "speculative.n_max", 0, 8)
	var plugins []any
	for i := range r.IntN(3) {
		entry := map[string]any{"script": fmt.Sprintf(evading[r.IntN(len(evading))], odd), "name": []string{"mine", "other", policy}[min(2, i+r.IntN(20)/19)]}
		if strings.Contains(entry["script"].(string), "%!(EXTRA") {
			entry["script"], _, _ = strings.Cut(entry["script"].(string), "%!(EXTRA")
		}
		if r.IntN(2) == 0 {
			entry["on_error"] = "skip"
		}
		plugins = append(plugins, entry)
	}
	if r.IntN(10) == 0 {
		plugins = append(plugins, []any{policy, map[string]any{"name": policy, "enabled": false}, map[string]any{"name": policy, "on_error": "skip"}}[r.IntN(3)])
	}
	if plugins != nil {
		fields["plugins"] = plugins
	}
	limit := 4 + r.IntN(16)
	messages := []any{map[string]any{"role": "user", "content": "Tell me a story about a frog."}}
	switch path = []string{"/v1/chat/completions", "/chat/completions", "/v1/completions", "/v1/messages", "/v1/responses", "/api/chat", "/api/generate", "/completion", "/infill"}[r.IntN(9)]; path {
	case "/v1/chat/completions", "/chat/completions":
		fields["messages"], fields["max_tokens"] = messages, limit
		some(3, "n", 2, 3)
		some(3, "logprobs", true)
	case "/v1/completions":
		fields["prompt"], fields["max_tokens"] = []any{"Once upon", []any{"Once", "There was"}, []any{odd, odd + 1}}[r.IntN(3)], limit
		some(3, "n", 2, 3)
		some(4, "echo", true)
	case "/v1/messages":
		fields["messages"], fields["max_tokens"] = messages, limit
	case "/v1/responses":
		fields["input"], fields["max_output_tokens"] = "Tell me a story.", limit
	case "/api/chat", "/api/generate":
		fields["options"] = map[string]any{"num_predict": limit}
		if path == "/api/chat" {
			fields["messages"] = messages
		} else {
			fields["prompt"] = "Once"
			some(2, "raw", true)
		}
		fields["stream"] = false
	case "/completion":
		fields["prompt"], fields["n_predict"] = []any{"Once upon", []any{odd, " a"}}[r.IntN(2)], limit
		some(3, "n_probs", 3)
	case "/infill":
		fields["input_prefix"], fields["input_suffix"], fields["n_predict"] = "a", "b", limit
	}
	if fields["stream"] == nil {
		fields["stream"] = r.IntN(2) == 0
	}
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return path, string(text)
}

// No request of any kind gets a token past a required policy: the answer has only even tokens, or
// the request is refused.
func TestPolicies_RandomRequests_OnlyEvenTokens(t *testing.T) {
	h := openEven(t)
	r := steadytest.Rand(t)
	vocabulary := hosts.Vocabulary(t).Info().Vocabulary
	policies := slices.Sorted(maps.Keys(evens))
	whole := map[string]int{}
	for i := range steadytest.InLongTest(2000, 120) {
		policy := policies[i%len(policies)]
		odd := 2*r.IntN(vocabulary/2-1) + 1
		path, body := request(r, policy, odd)
		status, _, text := sendAs(t, h, policy, path, body)
		if status >= 500 && path != "/infill" {
			t.Fatalf("%s %s %s: %d %s", policy, path, body, status, text)
		}
		if found := oddIn(t, h, policy, text); found != nil {
			t.Fatalf("%s %s %s: token %+v", policy, path, body, *found)
		}
		if status == http.StatusOK && recordingID.MatchString(text) {
			whole[policy]++
		}
	}
	for _, policy := range policies {
		if whole[policy] < 3 {
			t.Errorf("%s: only %d answers", policy, whole[policy])
		}
	}
}

// as dials a WebSocket with a key.
func as(t *testing.T, h *host.Host, key string) *hosts.Client {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), h.URL()+"/v1/ws", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + key}}}) //nolint:bodyclose // the connection has it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.CloseNow() }) //nolint:errcheck // the test is over
	return &hosts.Client{T: t, Conn: conn, Texts: map[string]string{}}
}

// ends reads frames until each of some answers has ended, or was refused, and returns them all.
func ends(c *hosts.Client, names ...string) string {
	c.T.Helper()
	var all strings.Builder
	for len(names) > 0 {
		_, data, err := c.Conn.Read(c.T.Context())
		if err != nil {
			c.T.Fatalf("%v after %s", err, all.String())
		}
		var f struct{ Type, ID, As string }
		must.Do(c.T, json.Unmarshal(data, &f))
		all.Write(data)
		names = slices.DeleteFunc(names, func(name string) bool { return f.Type == "end" && f.ID == name || f.Type == "error" && f.As == name })
	}
	return all.String()
}

// What is done to running answers gets no token past a policy either.
func TestPolicies_Steering_OnlyEvenTokens(t *testing.T) {
	h := openEven(t)
	r := steadytest.Rand(t)
	policies := slices.Sorted(maps.Keys(evens))
	for i := range steadytest.InLongTest(200, 15) {
		policy := policies[i%len(policies)]
		c := as(t, h, policy)
		c.Send(`{"type":"generate","id":"a","request":{"prompt":"Once upon","ignore_eos":true,"max_tokens":60,"record":true}}`)
		if r.IntN(2) == 0 {
			c.Until("started")
		}
		names := []string{"a"}
		for range 8 {
			switch r.IntN(6) {
			case 0:
				c.Send(`{"type":"inject","id":"a","text":"` + []string{" frog", "xyz", "A", " the old"}[r.IntN(4)] + `"}`)
			case 1:
				c.Send(fmt.Sprintf(`{"type":"rewind","id":"a","tokens":%d}`, 1+r.IntN(4)))
			case 2:
				c.Send(`{"type":"set","id":"a","sampling":` + []string{`{"samplers":["top_k"]}`, `{"samplers":["plugin:` + policy + `"]}`, `{"temperature":2}`, `{"logit_bias":{"33":100}}`, `{"grammar":"root ::= [a-z ]*"}`}[r.IntN(5)] + `}`)
			case 3:
				as := fmt.Sprint("b", len(names))
				names = append(names, as)
				c.Send(`{"type":"fork","id":"a","as":"` + as + `","sampling":` + []string{`{"seed":3}`, `{"temperature":2}`, `{"samplers":["top_k"]}`}[r.IntN(3)] + `}`)
			case 4:
				c.Send(`{"type":"resume","id":"a"}`)
			case 5:
				c.Send(`{"type":"pause","id":"a"}`)
			}
		}
		c.Send(`{"type":"resume","id":"a"}`)
		frames := ends(c, names...)
		if found := oddIn(t, h, policy, frames); found != nil {
			t.Fatalf("%s: token %+v: %s", policy, *found, frames)
		}
	}
}
