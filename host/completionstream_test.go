// SPDX-License-Identifier: MIT

package host

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// A stream of /completion has all the text of the whole answer, wherever its last character breaks off. The model's tokens are bytes.
func TestHost_Completion_StreamHasTheWholeText(t *testing.T) {
	h := open(t, map[string]any{"model.path": smallModel(t, "cohere2")})
	run(t, h)
	content := func(body string) (text string) {
		t.Helper()
		status, answer := post(t, h.URL()+"/completion", body)
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
