// SPDX-License-Identifier: MIT

package plugins

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/penstock/penstock/tests/hosts"
)

// Whoever has a key that is listed brings a module and uses it, under the name that the request
// gives it, until it is removed. The holder of another key can do nothing of that.
func TestModules_OrdinaryKey(t *testing.T) {
	h := hosts.OpenWithPlugins(t, map[string]any{"server.api_keys": "one,two", "plugins.modules": "keys", "plugins.module_keys": "one"}, nil)
	call := func(key, method, path, kind string, body []byte) (int, string) {
		t.Helper()
		status, _, text := requestAs(t, h, key, method, path, body, "Content-Type", kind)
		return status, text
	}
	wasm := hosts.Always("its-own", aToken)
	if status, text := call("two", http.MethodPost, "/v1/modules", "application/wasm", wasm); status != http.StatusForbidden {
		t.Errorf("a key that is not listed: %d %s", status, text)
	}
	status, text := call("one", http.MethodPost, "/v1/modules", "application/wasm", wasm)
	var module struct{ ID string }
	if err := json.Unmarshal([]byte(text), &module); status != http.StatusCreated || err != nil {
		t.Fatalf("%d %s", status, text)
	}
	request := fmt.Sprintf(`{"prompt":"Once","max_tokens":3,"record":true,"plugins":[{"module":%q,"name":"mine"}],"samplers":["plugin:mine"]}`, module.ID)
	if status, text := call("two", http.MethodPost, "/v1/completions", "application/json", []byte(request)); status != http.StatusForbidden {
		t.Errorf("with the other key: %d %s", status, text)
	}
	status, text = call("one", http.MethodPost, "/v1/completions", "application/json", []byte(request))
	if want := strings.Repeat(hosts.Piece(t, aToken), 3); status != http.StatusOK || !strings.Contains(text, want) {
		t.Errorf("%d %s lacks %q", status, text, want)
	}
	if status, text := call("one", http.MethodGet, "/v1/recordings", "", nil); status != http.StatusOK || !strings.Contains(text, "its-own") {
		t.Errorf("the recordings are %s", text)
	}
	if status, text := call("one", http.MethodDelete, "/v1/modules/"+module.ID, "", nil); status != http.StatusNoContent {
		t.Errorf("%d %s", status, text)
	}
	if status, text := call("one", http.MethodPost, "/v1/completions", "application/json", []byte(request)); status != http.StatusBadRequest || !strings.Contains(text, "module_not_found") {
		t.Errorf("when it is gone: %d %s", status, text)
	}
}
