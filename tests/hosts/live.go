// SPDX-License-Identifier: MIT

package hosts

import (
	"encoding/json"
	"testing"

	"github.com/coder/websocket"

	"github.com/penstock/penstock/host"
)

// LiveModel is what a live frame tells of a model, as far as tests ask.
type LiveModel struct {
	Name, State    string
	WaitingForLoad int `json:"waiting_for_load"`
	ITL            struct {
		UpTo   []float64 `json:"up_to_ms"`
		Counts []uint64
		SumMS  float64 `json:"sum_ms"`
	}
	Plugins []LivePlugin
}

// LivePlugin is what a live frame tells of a plugin.
type LivePlugin struct {
	Name, State   string
	Calls, Faults uint64
	TimeMS        float64 `json:"time_ms"`
}

// Live asks what the host is doing.
func Live(t *testing.T, h *host.Host) []LiveModel {
	t.Helper()
	c := Dial(t, h)
	defer c.Conn.CloseNow() //nolint:errcheck // it was asked
	c.Send(`{"type":"watch","every_ms":60000}`)
	kind, data, err := c.Conn.Read(t.Context())
	var frame struct {
		Type   string
		Models []LiveModel
	}
	if err == nil {
		err = json.Unmarshal(data, &frame)
	}
	if err != nil || kind != websocket.MessageText || frame.Type != "live" {
		t.Fatalf("%s, %v", data, err)
	}
	return frame.Models
}
