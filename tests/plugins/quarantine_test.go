// SPDX-License-Identifier: MIT

package plugins

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/penstock/penstock/host"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tests/hosts"
)

// touchy traps at the first token where it is given a configuration that is not {}.
func touchy() []byte {
	g := asm.New(`{"name":"touchy"}`)
	g.Globals = 1
	g.On(abi.ExportOpen, asm.I32(4096), asm.I32(0), g.Call(abi.ImportConfig), asm.SetGlobal(0), asm.I32(0))
	return g.On(abi.ExportAccept, asm.I32(2), asm.Global(0), asm.Less, asm.When(asm.Unreachable), asm.I32(0)).Wasm()
}

// asks completes with a plugin as the holder of a key.
func asks(t *testing.T, h *host.Host, key, plugins string) (status int, retry, body string) {
	t.Helper()
	status, header, body := requestAs(t, h, key, http.MethodPost, "/v1/completions", []byte(`{"prompt":"Hello","max_tokens":2,"ignore_eos":true`+plugins+`}`))
	return status, header.Get("Retry-After"), body
}

// What one client does with a plugin is that client's to wait for: others go on, and it is told
// when to try again.
func TestPlugins_Quarantine_IsTheClientsOwn(t *testing.T) {
	h := hosts.OpenWithPlugins(t, map[string]any{"server.api_keys": []string{"alice", "mallory"}, "server.admin_key": "secret"}, map[string][]byte{"a.wasm": touchy()})
	const good = `,"plugins":["touchy"]`
	for i := range 2 * abi.LimitFaults {
		if status, retry, body := asks(t, h, "mallory", `,"plugins":[{"name":"touchy","config":{"n":`+strconv.Itoa(i)+`}}]`); status == 200 {
			t.Fatalf("%d %s %s", status, retry, body)
		}
	}
	status, retry, body := asks(t, h, "mallory", good)
	if seconds, err := strconv.Atoi(retry); status != 429 || err != nil || seconds < 1 || !strings.Contains(body, "plugin_quarantined") || !strings.Contains(body, "touchy") {
		t.Errorf("%d, Retry-After %q: %s", status, retry, body)
	}
	for _, use := range []string{good, `,"samplers":["plugin:touchy"]`} {
		if status, _, body := asks(t, h, "alice", use); status != 200 {
			t.Errorf("somebody else: %d %s", status, body)
		}
	}
	if list := getAs(t, h, "secret"); !strings.Contains(list, `"state":"quarantined"`) {
		t.Error(list)
	}
	if status, body := hosts.Admin(t, h, http.MethodPost, "/v1/plugins/touchy/reset", nil); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	if status, _, body := asks(t, h, "mallory", good); status != 200 {
		t.Errorf("after a reset: %d %s", status, body)
	}
}

// A template is refused before the request waits for a slot.
func TestPlugins_Quarantine_OfATemplate(t *testing.T) {
	trapping := asm.New(`{"name":"trapping"}`).On(abi.ExportTemplate, asm.Unreachable).Wasm()
	h := hosts.OpenWithPlugins(t, nil, map[string][]byte{"a.wasm": trapping})
	const body = `{"messages":[{"role":"user","content":"Hello"}],"plugins":["trapping"]}`
	for range abi.LimitFaults {
		if status, answer := hosts.Post(t, h.URL()+"/v1/chat/completions", body); status != 424 {
			t.Fatalf("%d %s", status, answer)
		}
	}
	if status, answer := hosts.Post(t, h.URL()+"/v1/chat/completions", body); status != 429 || !strings.Contains(answer, "plugin_quarantined") {
		t.Errorf("%d %s", status, answer)
	}
}

// The operator's own plugin is tried in each request, whatever it did in others: left out, a
// policy would be gone.
func TestPlugins_Quarantine_NeverOfADefault(t *testing.T) {
	h := hosts.OpenWithPlugins(t, map[string]any{"plugins.default": []string{"faulty"}}, map[string][]byte{"a.wasm": faulty()})
	for range 3 * abi.LimitFaults {
		if status, message, about := hosts.Complete(t, h, ""); status != 424 || !strings.Contains(about, "plugin_fault") {
			t.Fatalf("%d %s %s", status, about, message)
		}
	}
}

func getAs(t *testing.T, h *host.Host, key string) string {
	t.Helper()
	_, _, body := requestAs(t, h, key, http.MethodGet, "/v1/plugins", nil)
	return body
}
