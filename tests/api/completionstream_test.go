// SPDX-License-Identifier: MIT

package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/penstock/penstock/tests/hosts"
)

// A stream of /completion has all the text of the whole answer, wherever its last character breaks
// off. The model's tokens are bytes.
func TestHost_Completion_StreamHasTheWholeText(t *testing.T) {
	h := hosts.Open(t, map[string]any{"model.path": hosts.SmallModel(t, "cohere2")})
	hosts.Run(t, h)
	content := func(body string) (text string) {
		t.Helper()
		status, answer := hosts.Post(t, h.URL()+"/completion", body)
		for line := range strings.Lines(answer) {
			var part struct{ Content string }
			if data := strings.TrimPrefix(line, "data: "); len(data) > 1 {
				if err := json.Unmarshal([]byte(data), &part); status != 200 || err != nil {
					t.Fatalf("%s: %d %s", body, status, answer)
				}
				text += part.Content
			}
		}
		return text
	}
	broken := 0
	for n := 1; n <= 24; n++ {
		ask := fmt.Sprintf(`{"prompt":"There was a big tree, and","n_predict":%d,"temperature":0,"ignore_eos":true,"stream":`, n)
		whole, streamed := content(ask+`false}`), content(ask+`true}`)
		if whole != streamed {
			t.Errorf("%d tokens: whole %q, streamed %q", n, whole, streamed)
		}
		if strings.HasSuffix(whole, "\ufffd") {
			broken++
		}
	}
	if broken == 0 {
		t.Error("no answer breaks off within a character")
	}
}
