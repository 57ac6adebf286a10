// SPDX-License-Identifier: MIT

package host

import (
	"net/http"
	"strings"
	"testing"
)

func TestHost_SeveralModels_BeyondMemory_IsA422(t *testing.T) {
	h := serveSeveral(t, map[string]any{"model.ctx_size": "1000000000"})
	status, body := command(t, h, "/v1/chat/completions", `{"model":"tale",`+frog+`}`)
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
