// SPDX-License-Identifier: MIT

package hosts

import (
	"encoding/json"
	"testing"

	"github.com/coder/websocket"
	"github.com/penstock/penstock/host"
)

// Frame is a frame of the host.
type Frame struct {
	Type, ID, Reason, Text, Removed string
	Error                           struct{ Code, Param, Message string }
	Trace                           struct{ By string }
	Logprobs                        *struct{ Logprob float64 }
}

// Client is a WebSocket connection to a host. Its methods end the test where something is wrong
// with the connection.
type Client struct {
	T     *testing.T // whose client it is
	Conn  *websocket.Conn
	Texts map[string]string // of the answers, as far as it was read
}

// Dial connects to a host.
func Dial(t *testing.T, h *host.Host) *Client {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), h.URL()+"/v1/ws", nil) //nolint:bodyclose // the connection has it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.CloseNow() }) //nolint:errcheck // the test is over
	return &Client{t, conn, map[string]string{}}
}

// Send sends a frame.
func (c *Client) Send(frame string) {
	c.T.Helper()
	if err := c.Conn.Write(c.T.Context(), websocket.MessageText, []byte(frame)); err != nil {
		c.T.Fatal(err)
	}
}

// Until reads to the next frame of a type.
func (c *Client) Until(kind string) Frame {
	c.T.Helper()
	for {
		if f := c.Frame(); f.Type == kind {
			return f
		}
	}
}

// Frame reads the next frame.
func (c *Client) Frame() (f Frame) {
	c.T.Helper()
	_, data, err := c.Conn.Read(c.T.Context())
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err != nil {
		c.T.Fatal(err)
	}
	c.Texts[f.ID] += f.Text
	return f
}

// GoesOn resumes an answer, sees more of it and ends it. All others must be paused.
func (c *Client) GoesOn(id string) {
	c.T.Helper()
	c.Send(`{"type":"resume","id":"` + id + `"}`)
	for seen := 0; seen < 5; {
		if f := c.Until("token"); f.ID == id {
			seen++
		}
	}
	c.Send(`{"type":"cancel","id":"` + id + `"}`)
	if f := c.Until("end"); f.ID != id || f.Reason != "cancelled" {
		c.T.Errorf("got %+v", f)
	}
}

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
