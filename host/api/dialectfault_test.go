// SPDX-License-Identifier: MIT

package api

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/penstock/penstock/scheduler"
)

// An answer that fails in its middle ends with an error in the words of its API, and one that fails at once has a status too.
func TestAPI_Dialects_Faults(t *testing.T) {
	const anthropic = `{"type":"error","error":{"type":"api_error","message":"the forward pass failed: the device is lost","code":"internal_error"}}` + "\n"
	const ollama = `{"error":"the forward pass failed: the device is lost"}` + "\n"
	for _, c := range []struct{ path, body, whole, late string }{
		{"/v1/messages", `{"max_tokens":9,"stream":true,` + hello + `}`, anthropic, "event: error\ndata: " + anthropic + "\n"},
		{"/api/chat", `{` + hello + `}`, ollama, ollama},
	} {
		for _, good := range []int{0, 3} {
			passes, seen := 0, make(chan struct{})
			r := newRig(t, func(s *setup) {
				s.fail = func(*scheduler.Batch) error {
					if passes++; passes <= good {
						return nil
					}
					<-seen
					return errors.New("the device is lost")
				}
			})
			if good == 0 {
				close(seen)
			}
			a, err := http.Post(r.url+c.path, "application/json", strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			if good > 0 {
				close(seen) // the headers are here, so something of the answer was sent
			}
			text, err := io.ReadAll(a.Body)
			_ = a.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case good == 0 && (a.StatusCode != http.StatusInternalServerError || string(text) != c.whole):
				t.Errorf("%s at once: %d %s", c.path, a.StatusCode, text)
			case good > 0 && (a.StatusCode != http.StatusOK || !strings.HasSuffix(string(text), c.late) || string(text) == c.late):
				t.Errorf("%s in its middle: %d %s", c.path, a.StatusCode, text)
			}
		}
	}
}
