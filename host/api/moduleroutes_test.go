// SPDX-License-Identifier: MIT

package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/access"
)

// Who may bring no modules is told so by each route, with the remedy, and nothing is uploaded.
func TestAPI_Modules_OnlyWhoMay(t *testing.T) {
	for name, uploads := range map[string]*access.Code{"off": nil, "keys of others": access.NewModuleAccess(true)} {
		r := newRig(t, func(s *setup) { s.Modules, s.Uploads = ownedModules{}, uploads })
		for _, call := range []string{"POST /v1/modules", "GET /v1/modules", "GET /v1/modules/a", "DELETE /v1/modules/a"} {
			method, path, _ := strings.Cut(call, " ")
			status, _, body := r.call(method, path, "", "Content-Type", "application/wasm")
			if status != http.StatusForbidden || !strings.Contains(body, "modules_not_allowed") || !strings.Contains(body, "plugins.module_keys") {
				t.Errorf("%s, %s: %d %s", name, call, status, body)
			}
		}
		status, _, body := r.call(http.MethodPost, "/v1/completions", `{"prompt":"a","plugins":[{"module":"sha256:a"}]}`, "Content-Type", "application/json")
		if status != http.StatusForbidden || !strings.Contains(body, `"plugins[0].module"`) {
			t.Errorf("%s, in a request: %d %s", name, status, body)
		}
	}
}

// Each upload counts, whatever comes of it: what is broken costs as much to find out.
func TestAPI_Modules_UploadsAreCounted(t *testing.T) {
	r := newRig(t, func(s *setup) { s.Modules, s.Uploads = ownedModules{}, access.NewModuleAccess(false) })
	if status, _, body := r.call(http.MethodPost, "/v1/modules", "a", "Content-Type", "application/json"); status != http.StatusUnsupportedMediaType {
		t.Errorf("of another type: %d %s", status, body)
	}
	upload := func() (int, http.Header, string) {
		return r.call(http.MethodPost, "/v1/modules", "a", "Content-Type", "application/wasm")
	}
	for range access.NewModules {
		if status, _, body := upload(); status != http.StatusCreated {
			t.Fatalf("%d %s", status, body)
		}
	}
	if status, header, body := upload(); status != http.StatusTooManyRequests || header.Get("Retry-After") == "" || !strings.Contains(body, "too_many_modules") {
		t.Errorf("one more: %d %v %s", status, header, body)
	}
}
