// SPDX-License-Identifier: MIT

package api

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/penstock/penstock/scheduler"
)

// A response that fails in its middle ends with the event that OpenAI's clients know.
func TestAPI_Responses_FailsWithItsEvent(t *testing.T) {
	passes, seen := 0, make(chan struct{})
	r := newRig(t, func(s *setup) {
		s.fail = func(*scheduler.Batch) error {
			if passes++; passes <= 3 {
				return nil
			}
			<-seen
			return errors.New("the device is lost")
		}
	})
	a, err := http.Post(r.url+"/v1/responses", "application/json", strings.NewReader(`{"input":"hi","stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	close(seen) // the headers are here, so something of the answer was sent
	text, err := io.ReadAll(a.Body)
	_ = a.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	events := strings.Split(strings.TrimSpace(string(text)), "\n\n")
	name, data, _ := strings.Cut(events[len(events)-1], "\n")
	var last struct {
		Type     string
		Number   int `json:"sequence_number"`
		Response struct {
			Status string
			Error  struct{ Code, Message string }
		}
	}
	if err := json.Unmarshal([]byte(strings.TrimPrefix(data, "data: ")), &last); err != nil {
		t.Fatal(err, string(text))
	}
	if name != "event: response.failed" || last.Type != "response.failed" || last.Number != len(events)-1 || last.Response.Status != "failed" ||
		last.Response.Error.Code != "internal_error" || !strings.Contains(last.Response.Error.Message, "the device is lost") {
		t.Errorf("%d events, the last is %s", len(events), events[len(events)-1])
	}
}
