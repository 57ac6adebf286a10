// SPDX-License-Identifier: MIT

package api

import (
	"net/http"
	"strings"
	"testing"
)

// An answer that fails in its middle ends with an error in the words of its API, and one that
// fails at once has a status too.
func TestAPI_Dialects_Faults(t *testing.T) {
	const anthropic = `{"type":"error","error":{"type":"api_error","message":"the forward pass failed: the device is lost","code":"internal_error"}}` + "\n"
	const ollama = `{"error":"the forward pass failed: the device is lost"}` + "\n"
	for _, c := range []struct{ path, body, whole, late string }{
		{"/v1/messages", `{"max_tokens":9,"stream":true,` + hello + `}`, anthropic, "event: error\ndata: " + anthropic + "\n"},
		{"/api/chat", `{` + hello + `}`, ollama, ollama},
	} {
		for _, good := range []int{0, 3} {
			status, text := lostAfter(t, good, c.path, c.body)
			switch {
			case good == 0 && (status != http.StatusInternalServerError || text != c.whole):
				t.Errorf("%s at once: %d %s", c.path, status, text)
			case good > 0 && (status != http.StatusOK || !strings.HasSuffix(text, c.late) || text == c.late):
				t.Errorf("%s in its middle: %d %s", c.path, status, text)
			}
		}
	}
}
