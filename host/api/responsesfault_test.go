// SPDX-License-Identifier: MIT

package api

import (
	"encoding/json"
	"strings"
	"testing"
)

// A response that fails in its middle ends with the event that OpenAI's clients know.
func TestAPI_Responses_FailsWithItsEvent(t *testing.T) {
	_, text := lostAfter(t, 3, "/v1/responses", `{"input":"hi","stream":true}`)
	events := strings.Split(strings.TrimSpace(text), "\n\n")
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
		t.Fatal(err, text)
	}
	if name != "event: response.failed" || last.Type != "response.failed" || last.Number != len(events)-1 || last.Response.Status != "failed" ||
		last.Response.Error.Code != "internal_error" || !strings.Contains(last.Response.Error.Message, "the device is lost") {
		t.Errorf("%d events, the last is %s", len(events), events[len(events)-1])
	}
}
