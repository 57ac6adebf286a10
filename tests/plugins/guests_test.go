// SPDX-License-Identifier: MIT

package plugins

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tests/hosts"
)

// Set-up obeys a request's own time, by a template and by open, and is over when the client is
// gone.
func TestHost_SetUp_ObeysTheRequest(t *testing.T) {
	h := hosts.OpenWithPlugins(t, nil, map[string][]byte{
		"templates.wasm": asm.New(`{"name":"templates"}`).On(abi.ExportTemplate, asm.Forever).Wasm(),
		"opens.wasm":     asm.New(`{"name":"opens"}`).On(abi.ExportOpen, asm.Forever).Wasm(),
	})
	for _, name := range []string{"templates", "opens"} {
		status, text := hosts.Post(t, h.URL()+"/v1/chat/completions", `{`+hosts.Frog+`,"plugins":["`+name+`"],"timeout_ms":100}`)
		if status/100 != 4 && status != http.StatusOK || !strings.Contains(text, "time") {
			t.Errorf("%s: %d %s", name, status, text)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		request := hosts.NewRequest(t, http.MethodPost, h.URL()+"/v1/chat/completions", []byte(`{`+hosts.Frog+`,"plugins":["`+name+`"]}`), "Content-Type", "application/json")
		if answer, err := http.DefaultClient.Do(request.WithContext(ctx)); err == nil {
			_ = answer.Body.Close()
			t.Errorf("%s was answered", name)
		}
		cancel()
	}
	if faults := hosts.Get(t, h.URL()+"/v1/plugins"); strings.Contains(faults, "cancelled") {
		t.Errorf("a client that goes away is noted as a fault: %s", faults)
	}
}

// A request that needs more memory than all plugins may have is told to come back.
func TestHost_PluginMemory_IsBounded(t *testing.T) {
	large := asm.New(`{"name":"large"}`).On(abi.ExportPrepare, asm.I32(0))
	large.Pages = 32
	h := hosts.OpenWithPlugins(t, map[string]any{"plugins.memory": "3MiB"}, map[string][]byte{"large.wasm": large.Wasm()})
	if status, text, _ := hosts.Complete(t, h, `,"plugins":["large"]`); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	status, text := hosts.Post(t, h.URL()+"/v1/completions", `{"prompt":"Hello","max_tokens":50,"ignore_eos":true,"n":2,"plugins":["large"]}`)
	if status != http.StatusServiceUnavailable || !strings.Contains(text, "plugins.memory") {
		t.Errorf("%d %s", status, text)
	}
	if metrics := hosts.Get(t, h.URL()+"/metrics"); !strings.Contains(metrics, "penstock_plugin_memory_bytes") {
		t.Error("no metric of plugins' memory")
	}
}
