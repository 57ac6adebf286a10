// SPDX-License-Identifier: MIT

package plugins

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tests/hosts"
	"github.com/penstock/penstock/tools/must"
)

// refusing refuses every request.
func refusing() []byte {
	g := asm.New(`{"name":"refusing"}`).Put(4096, "no, thank you")
	return g.On(abi.ExportOpen, asm.I32(4096), asm.I32(13), g.Call("fail"), asm.I32(1)).Wasm()
}

// faulty traps at the first token.
func faulty() []byte {
	return asm.New(`{"name":"faulty"}`).On(abi.ExportAccept, asm.Unreachable).Wasm()
}

// storyteller is a template whose prompt is always the same.
func storyteller() []byte {
	const prompt = "Once upon a time"
	g := asm.New(`{"name":"storyteller"}`).Put(4096, prompt)
	return g.On(abi.ExportTemplate, asm.I32(4096), asm.I32(len(prompt)), g.Call("emit"), asm.I32(0)).Wasm()
}

// withSchema wants a number between 0 and 1.
func withSchema() []byte {
	return asm.New(`{"name":"strict","config_schema":{"type":"object","properties":{"p":{"type":"number","maximum":1}}}}`).
		On(abi.ExportAccept, asm.I32(0)).Wasm()
}

// wholeRow wants to see all logits.
func wholeRow() []byte {
	return asm.New(`{"name":"whole","view":"logits"}`).On(abi.ExportSample, asm.I32(-1)).Wasm()
}

// TestHost_ApplyTemplate_ByPlugin: what is shown is what a chat completion with the same body
// would be given.
func TestHost_ApplyTemplate_ByPlugin(t *testing.T) {
	h := hosts.OpenWithPlugins(t, nil, map[string][]byte{"a.wasm": storyteller()})
	const messages = `{"messages":[{"role":"user","content":"Hello"}]`
	if status, body := hosts.Post(t, h.URL()+"/apply-template", messages+`,"plugins":["storyteller"]}`); status != 200 || body != `{"prompt":"Once upon a time"}`+"\n" {
		t.Errorf("%d %s", status, body)
	}
	if status, body := hosts.Post(t, h.URL()+"/apply-template", messages+`}`); status != 200 || !strings.Contains(body, "Hello") {
		t.Errorf("without the plugin: %d %s", status, body)
	}
	if status, body := hosts.Post(t, h.URL()+"/apply-template", messages+`,"plugins":["nonesuch"]}`); status != 400 || !strings.Contains(body, "nonesuch") {
		t.Errorf("an unknown plugin: %d %s", status, body)
	}
}

// TestHost_ApplyTemplate_Tokens: they are those that an answer to the same body is computed from,
// with the special ones told apart.
func TestHost_ApplyTemplate_Tokens(t *testing.T) {
	h, m := hosts.OpenWithPlugins(t, nil, map[string][]byte{"a.wasm": storyteller()}), hosts.Vocabulary(t)
	for _, plugins := range []string{`[]`, `["storyteller"]`} {
		body := `{"messages":[{"role":"user","content":"Hello"}],"max_tokens":1,"plugins":` + plugins
		var prompt struct {
			Tokens []struct {
				ID      int32
				Piece   string
				Special bool
			}
		}
		if status, raw := hosts.Post(t, h.URL()+"/apply-template", body+`,"return_tokens":true}`); status != 200 || json.Unmarshal([]byte(raw), &prompt) != nil {
			t.Fatalf("%d %s", status, raw)
		}
		_, raw := hosts.Post(t, h.URL()+"/v1/chat/completions", body+`}`)
		if want := fmt.Sprintf(`"prompt_tokens":%d,`, len(prompt.Tokens)); !strings.Contains(raw, want) {
			t.Errorf("%s: %s lacks %s", plugins, raw, want)
		}
		for _, token := range prompt.Tokens {
			if special := m.Piece(token.ID) == ""; special != token.Special || token.Piece != m.SpecialPiece(token.ID) {
				t.Errorf("%s: %+v", plugins, token)
			}
		}
		if plugins == `[]` && !prompt.Tokens[0].Special {
			t.Errorf("the prompt begins with %+v", prompt.Tokens[0])
		}
	}
}

// A request may say which module of a plugin it wants, also of one that the operator prescribes.
func TestPlugins_Pin(t *testing.T) {
	wasm := hosts.Always("always", 300)
	hash := sha256.Sum256(wasm)
	sum := hex.EncodeToString(hash[:])
	for _, prescribed := range [][]string{nil, {"always"}} {
		h := hosts.OpenWithPlugins(t, map[string]any{"plugins.default": prescribed}, map[string][]byte{"a.wasm": wasm})
		for value, want := range map[string]struct {
			status int
			says   string
		}{
			sum:                     {200, ""},
			strings.Repeat("0", 64): {400, sum},
			"latest":                {400, "64 hexadecimal digits"},
		} {
			status, text, field := hosts.Complete(t, h, `,"plugins":[{"name":"always","sha256":"`+value+`"}]`)
			if status != want.status || status != 200 && (!strings.Contains(text, want.says) || !strings.Contains(field, "plugins[0].sha256")) {
				t.Errorf("%q, prescribed %v: %d %q %s", value, prescribed, status, text, field)
			}
		}
	}
}

// An upload that the lock does not allow is refused.
func TestPlugins_Lock_RefusesUploads(t *testing.T) {
	wasm := hosts.Always("always", 300)
	hash := sha256.Sum256(wasm)
	lock := []string{"always@sha256:" + hex.EncodeToString(hash[:])}
	h := hosts.OpenWithPlugins(t, map[string]any{"server.admin_key": "secret", "plugins.lock": lock}, nil)
	if status, body := hosts.Admin(t, h, http.MethodPost, "/v1/plugins", hosts.Always("always", 301)); status != 422 || !strings.Contains(body, "plugins.lock") {
		t.Errorf("%d %s", status, body)
	}
	if status, body := hosts.Admin(t, h, http.MethodPost, "/v1/plugins", wasm); status != 201 {
		t.Errorf("%d %s", status, body)
	}
}

func TestPlugins_Generate_ThePluginChooses(t *testing.T) {
	h := hosts.OpenWithPlugins(t, nil, map[string][]byte{"a.wasm": hosts.Always("always", 300), "b.wasm": faulty()})
	want := strings.Repeat(hosts.Piece(t, 300), 5)
	for _, fields := range []string{
		`,"plugins":["always"]`, `,"plugins":[{"name":"always","config":{},"on_error":"skip"}]`,
		`,"samplers":["plugin:always","top_k"]`, `,"samplers":["top_k","plugin:always"],"plugins":["always"]`,
	} {
		if status, text, _ := hosts.Complete(t, h, fields); status != 200 || text != want {
			t.Errorf("%s: %d %q, want %q", fields, status, text, want)
		}
	}
	_, plain, _ := hosts.Complete(t, h, "")
	if status, text, _ := hosts.Complete(t, h, `,"plugins":[{"name":"faulty","on_error":"skip"}]`); status != 200 || text != plain {
		t.Errorf("after a skipped fault: %d %q, want %q", status, text, plain)
	}
	metrics := hosts.Get(t, h.URL()+"/metrics")
	for _, line := range []string{`penstock_plugin_call_seconds_count{hook="sample",`, `plugin="always"`, `penstock_plugin_faults_total{kind="trap",`} {
		if !strings.Contains(metrics, line) {
			t.Errorf("metrics lack %s", line)
		}
	}
}

func TestPlugins_Generate_Refuses(t *testing.T) {
	h := hosts.OpenWithPlugins(t, nil, map[string][]byte{
		"a.wasm": hosts.Always("always", 300), "b.wasm": refusing(), "c.wasm": faulty(), "d.wasm": storyteller(), "e.wasm": withSchema(), "f.wasm": wholeRow(),
	})
	for fields, want := range map[string]string{
		`,"plugins":["none"]`:                               `400 invalid_value plugins[0]`,
		`,"plugins":["always","none"]`:                      `400 invalid_value plugins[1]`,
		`,"plugins":["always","always"]`:                    `400 invalid_value plugins[1]`,
		`,"plugins":"always"`:                               `400 invalid_value plugins`,
		`,"plugins":[7]`:                                    `400 invalid_value plugins[0]`,
		`,"plugins":[{"name":"always","extra":1}]`:          `400 invalid_value plugins[0]`,
		`,"plugins":[{"name":"always","on_error":"maybe"}]`: `400 invalid_value plugins[0].on_error`,
		`,"plugins":[{"name":"strict","config":{"p":2}}]`:   `400 invalid_value plugins[0].config.p`,
		`,"plugins":[{"name":"strict","config":[]}]`:        `400 invalid_value plugins[0].config`,
		`,"plugins":["storyteller"]`:                        `400 invalid_value plugins`,
		`,"samplers":["plugin:none"]`:                       `400 invalid_value samplers`,
		`,"samplers":["plugin:always","plugin:always"]`:     `400 invalid_value samplers`,
		`,"samplers":["top_k","plugin:whole"]`:              `400 invalid_value samplers`,
		`,"plugins":["refusing"]`:                           `400 plugin_refused plugins`,
		`,"plugins":["faulty"]`:                             `424 plugin_fault plugins`,
	} {
		status, message, about := hosts.Complete(t, h, fields)
		if got := fmt.Sprint(status, " ", about); got != want || message == "" {
			t.Errorf("%s: got %s (%s), want %s", fields, got, message, want)
		}
	}
}

func TestPlugins_Template_MakesThePrompt(t *testing.T) {
	file := attached(t, "policies: [{plugin: storyteller, mode: default}]") // which may stand beside a prompt
	h := hosts.OpenWithPlugins(t, map[string]any{"plugins.policy_file": file}, map[string][]byte{"a.wasm": storyteller()})
	_, raw := hosts.Post(t, h.URL()+"/v1/completions", `{"prompt":"Once upon a time","max_tokens":8,"temperature":0}`)
	_, chat := hosts.Post(t, h.URL()+"/v1/chat/completions", `{`+hosts.Frog+`,"max_tokens":8,"temperature":0}`)
	var a, b struct {
		Choices []struct {
			Text    string
			Message struct{ Content string }
		}
	}
	if err := json.Unmarshal([]byte(raw), &a); err != nil || len(a.Choices) != 1 {
		t.Fatal(raw)
	}
	if err := json.Unmarshal([]byte(chat), &b); err != nil || len(b.Choices) != 1 {
		t.Fatal(chat)
	}
	if a.Choices[0].Text != b.Choices[0].Message.Content || a.Choices[0].Text == "" {
		t.Errorf("%q and %q", a.Choices[0].Text, b.Choices[0].Message.Content)
	}
}

func TestPlugins_Defaults_CannotBeLeftOut(t *testing.T) {
	h := hosts.OpenWithPlugins(t, map[string]any{"plugins.default": []string{"always"}, "server.admin_key": "secret"},
		map[string][]byte{"a.wasm": hosts.Always("always", 300)})
	want := strings.Repeat(hosts.Piece(t, 300), 5)
	for _, fields := range []string{"", `,"plugins":[]`, `,"plugins":["always"]`, `,"samplers":["top_k"]`} {
		if status, text, _ := hosts.Complete(t, h, fields); status != 200 || text != want {
			t.Errorf("%s: %d %q", fields, status, text)
		}
	}
	for fields, want := range map[string]string{
		`"on_error":"skip"`:  `plugins[0].on_error is "skip"`,
		`"config":{"p":0.5}`: `plugins[0].config is set;`,
	} {
		status, message, about := hosts.Complete(t, h, `,"plugins":[{"name":"always",`+fields+`}]`)
		if field, _, _ := strings.Cut(want, " "); status != 400 || about != "invalid_value "+field || !strings.HasPrefix(message, want) ||
			!strings.HasSuffix(message, `plugin "always" as the operator has set it up: leave the field out`) || len(message) > 250 {
			t.Errorf("%s: %d %s %s", fields, status, about, message)
		}
	}
	if status, body := hosts.Admin(t, h, http.MethodDelete, "/v1/plugins/always", nil); status != 409 {
		t.Errorf("%d %s", status, body)
	}
}

func TestPlugins_Manage_OverHTTP(t *testing.T) {
	h := hosts.OpenWithPlugins(t, map[string]any{"server.admin_key": "secret", "plugins.scripts": "off"}, nil)
	for _, step := range []struct {
		method, path string
		wasm         []byte
		status       int
		has          string
	}{
		{"GET", "/v1/plugins", nil, 200, `"data":[]`},
		{"POST", "/v1/plugins?dry_run=true", hosts.Always("always", 300), 201, `"manifest":{"name":"always"`},
		{"POST", "/v1/plugins?dry_run=true", []byte("hello"), 400, `"not_wasm"`},
		{"POST", "/v1/plugins?dry_run=yes", hosts.Always("always", 300), 400, `"param":"dry_run"`},
		{"GET", "/v1/plugins", nil, 200, `"data":[]`},
		{"POST", "/v1/plugins", hosts.Always("always", 300), 201, `"state":"ready","manifest":{"name":"always"`},
		{"POST", "/v1/plugins", hosts.Always("always", 301), 200, `"name":"always"`},
		{"POST", "/v1/plugins?dry_run=true", hosts.Always("always", 302), 200, `"name":"always"`},
		{"GET", "/v1/plugins/always", nil, 200, `"file":"always.wasm"`},
		{"POST", "/v1/plugins/always/reset", nil, 200, `"faults":0`},
		{"POST", "/v1/plugins", []byte("hello"), 400, `"not_wasm"`},
		{"POST", "/v1/plugins", asm.New(`{"name":"A"}`).Wasm(), 422, `"invalid_plugin"`},
		{"DELETE", "/v1/plugins/always", nil, 204, ""},
		{"DELETE", "/v1/plugins/always", nil, 404, `"plugin_not_found"`},
		{"GET", "/v1/plugins/always", nil, 404, `"plugin_not_found"`},
		{"POST", "/v1/plugins/always/reset", nil, 404, `"plugin_not_found"`},
	} {
		if status, body := hosts.Admin(t, h, step.method, step.path, step.wasm); status != step.status || !strings.Contains(body, step.has) {
			t.Errorf("%s %s: %d %s, want %d with %s", step.method, step.path, status, body, step.status, step.has)
		}
	}
}

// TestPlugins_Faults_AreTold: the list says how often a plugin has faulted, and what happened last
// and when, until it is reset.
func TestPlugins_Faults_AreTold(t *testing.T) {
	wasm := faulty()
	h := hosts.OpenWithPlugins(t, map[string]any{"server.admin_key": "secret"}, map[string][]byte{"a.wasm": wasm})
	if fresh := hosts.Get(t, h.URL()+"/v1/plugins/faulty"); strings.Contains(fresh, "last_fault") || !strings.Contains(fresh, fmt.Sprintf(`"size":%d,`, len(wasm))) {
		t.Error(fresh)
	}
	before := time.Now()
	for range abi.LimitFaults {
		if status, message, _ := hosts.Complete(t, h, `,"plugins":["faulty"]`); status != 424 {
			t.Fatalf("%d %s", status, message)
		}
	}
	var told struct {
		State     string
		Faults    int
		LastFault string    `json:"last_fault"`
		FaultedAt time.Time `json:"last_fault_at"`
	}
	must.Do(t, json.Unmarshal([]byte(hosts.Get(t, h.URL()+"/v1/plugins/faulty")), &told))
	if told.State != "quarantined" || told.Faults != abi.LimitFaults || !strings.Contains(told.LastFault, "penstock_accept") || told.FaultedAt.Before(before) || told.FaultedAt.After(time.Now()) {
		t.Errorf("%+v", told)
	}
	if status, body := hosts.Admin(t, h, "POST", "/v1/plugins/faulty/reset", nil); status != 200 || !strings.Contains(body, `"state":"ready"`) || strings.Contains(body, "last_fault") {
		t.Errorf("%d %s", status, body)
	}
}

func TestPlugins_Manage_NeedsTheAdminKey(t *testing.T) {
	for key, want := range map[string]int{"": 403, "other": 401} {
		flags := map[string]any{}
		if key != "" {
			flags["server.admin_key"] = key
		}
		h := hosts.OpenWithPlugins(t, flags, nil)
		for _, r := range [][2]string{{"POST", "/v1/plugins"}, {"DELETE", "/v1/plugins/a"}, {"POST", "/v1/plugins/a/reset"}} {
			if status, body := hosts.Admin(t, h, r[0], r[1], hosts.Always("a", 1)); status != want {
				t.Errorf("%v with key %q: %d %s", r, key, status, body)
			}
		}
		if status, _ := hosts.Admin(t, h, "GET", "/v1/plugins", nil); status != 200 {
			t.Errorf("the list: %d", status)
		}
	}
}
