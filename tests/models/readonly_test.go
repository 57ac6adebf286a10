// SPDX-License-Identifier: MIT

package models

import (
	"net/http"
	"strings"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

// TestHost_SeveralModels_ReadingLoadsNone: what only tells of a model tells of one that is loaded.
// No page, monitor or client that asks has another model loaded, and others unloaded for it.
func TestHost_SeveralModels_ReadingLoadsNone(t *testing.T) {
	h := serveSeveral(t, map[string]any{"models.max": "1"})
	if status, by, text := sayOf(t, h, "tale"); status != http.StatusOK || by != "tale" {
		t.Fatalf("%d %s", status, text)
	}
	for _, path := range []string{"/props", "/slots", "/lora-adapters", "/v1/adapters"} {
		for _, model := range []string{"state", "state:latest", "broken"} {
			want := "is not loaded, and this route loads none"
			if path == "/props" && model != "broken" { // what the file says
				want = "is_sleeping:true"
			}
			if answer := lookUp(t, h, path+"?model="+model); !strings.Contains(answer, want) {
				t.Errorf("%s of %s: %s", path, model, answer)
			}
		}
		response := must.Get(http.Get(h.URL() + path + "?model=tale"))(t)
		if response.Body.Close(); response.StatusCode != http.StatusOK {
			t.Errorf("%s of a loaded model: %d", path, response.StatusCode)
		}
		if answer := lookUp(t, h, path+"?model=none"); !strings.Contains(answer, "there is no model") {
			t.Errorf("%s of none: %s", path, answer)
		}
	}
	if status, answer := command(t, h, "/api/show", `{"model":"state"}`); status != http.StatusOK {
		t.Errorf("/api/show: %d %v", status, answer)
	}
	if got := states(t, h); got["tale"] != "loaded" || got["state"] != "unloaded" || got["broken"] != "unloaded failed" {
		t.Errorf("then the models are %v", got)
	}
}
