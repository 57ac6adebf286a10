// SPDX-License-Identifier: MIT

package models

import (
	"net/http"
	"strings"
	"testing"

	"github.com/penstock/penstock/tests/hosts"
)

func TestHost_SeveralModels_BeyondMemory_IsA422(t *testing.T) {
	h := serveSeveral(t, map[string]any{"model.ctx_size": "1000000000"})
	status, body := command(t, h, "/v1/chat/completions", `{"model":"tale",`+hosts.Frog+`}`)
	if status != http.StatusUnprocessableEntity || !strings.Contains(errorOf(body), "too large for this machine: 1000000000 cells") {
		t.Errorf("%d: %v", status, body)
	}
}

// errorOf is the message of an API's error.
func errorOf(body map[string]any) string {
	e, _ := body["error"].(map[string]any)
	text, _ := e["message"].(string)
	return text
}
