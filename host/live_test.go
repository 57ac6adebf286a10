// SPDX-License-Identifier: MIT

package host

import (
	"encoding/json"
	"testing"

	"github.com/coder/websocket"
)

// liveModel is what a live frame tells of a model, as far as tests ask.
type liveModel struct {
	Name, State    string
	WaitingForLoad int `json:"waiting_for_load"`
	ITL            struct {
		UpTo   []float64 `json:"up_to_ms"`
		Counts []uint64
		SumMS  float64 `json:"sum_ms"`
	}
	Plugins []livePlugin
}

type livePlugin struct {
	Name, State   string
	Calls, Faults uint64
	TimeMS        float64 `json:"time_ms"`
}

// live asks what the host is doing.
func live(t *testing.T, h *Host) []liveModel {
	t.Helper()
	c := dial(t, h)
	defer c.conn.CloseNow() //nolint:errcheck // it was asked
	c.send(`{"type":"watch","every_ms":60000}`)
	kind, data, err := c.conn.Read(t.Context())
	var frame struct {
		Type   string
		Models []liveModel
	}
	if err == nil {
		err = json.Unmarshal(data, &frame)
	}
	if err != nil || kind != websocket.MessageText || frame.Type != "live" {
		t.Fatalf("%s, %v", data, err)
	}
	return frame.Models
}
