// SPDX-License-Identifier: MIT

package host

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
)

// liveFrame is a frame of the host.
type liveFrame struct {
	Type, ID, Reason, Text, Removed string
	Error                           struct{ Code, Param, Message string }
	Trace                           struct{ By string }
	Logprobs                        *struct{ Logprob float64 }
}

// client is a WebSocket connection to h.
type client struct {
	t     *testing.T
	conn  *websocket.Conn
	texts map[string]string // of the answers, as far as it was read
}

func dial(t *testing.T, h *Host) *client {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), h.URL()+"/v1/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.CloseNow() }) //nolint:errcheck // the test is over
	return &client{t, conn, map[string]string{}}
}

func (c *client) send(frame string) {
	c.t.Helper()
	if err := c.conn.Write(c.t.Context(), websocket.MessageText, []byte(frame)); err != nil {
		c.t.Fatal(err)
	}
}

// until reads to the next frame of a type.
func (c *client) until(kind string) liveFrame {
	c.t.Helper()
	for {
		if f := c.frame(); f.Type == kind {
			return f
		}
	}
}

// frame reads the next frame.
func (c *client) frame() (f liveFrame) {
	c.t.Helper()
	_, data, err := c.conn.Read(c.t.Context())
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	c.texts[f.ID] += f.Text
	return f
}

// goesOn resumes an answer, sees more of it and ends it. All others must be paused.
func (c *client) goesOn(id string) {
	c.t.Helper()
	c.send(`{"type":"resume","id":"` + id + `"}`)
	for seen := 0; seen < 5; {
		if f := c.until("token"); f.ID == id {
			seen++
		}
	}
	c.send(`{"type":"cancel","id":"` + id + `"}`)
	if f := c.until("end"); f.ID != id || f.Reason != "cancelled" {
		c.t.Errorf("got %+v", f)
	}
}

// Plugins are chosen with the request. A set that would change them is refused, and the answer goes on as it began.
func TestPlugins_Set_RefusedForThatCallOnly(t *testing.T) {
	h := openWithPlugins(t, nil, map[string][]byte{"a.wasm": always("always", 300), "b.wasm": always("other", 301)})
	c := dial(t, h)
	c.send(`{"type":"generate","id":"plain","request":{"prompt":"Hello","ignore_eos":true}}`)
	c.until("started")
	c.send(`{"type":"pause","id":"plain"}`)
	c.send(`{"type":"generate","id":"guided","request":{"prompt":"Hello","ignore_eos":true,"plugins":["always"]}}`)
	c.until("started")
	c.send(`{"type":"pause","id":"guided"}`)
	for _, tc := range []struct{ id, sampling, param, says string }{
		{"plain", `{"plugins":["always"]}`, "sampling", `"plugins"`},
		{"plain", `{"samplers":["plugin:always","top_k"]}`, "samplers", "plugin:always"},
		{"guided", `{"plugins":["other"]}`, "sampling", `"plugins"`},
		{"guided", `{"samplers":["plugin:other"]}`, "samplers", "plugin:other"},
		{"guided", `{"top_k":5,"temperature":-1}`, "temperature", "temperature"},
	} {
		c.send(`{"type":"set","id":"` + tc.id + `","sampling":` + tc.sampling + `}`)
		if f := c.until("error"); f.ID != tc.id || f.Error.Code != "invalid_value" || f.Error.Param != tc.param || !strings.Contains(f.Error.Message, tc.says) {
			t.Errorf("%s %s: got %+v", tc.id, tc.sampling, f)
		}
	}
	c.send(`{"type":"set","id":"plain","sampling":{"temperature":0}}`)
	for _, id := range []string{"plain", "guided"} {
		c.goesOn(id)
	}
}

// The same with a plugin that the operator prescribes: no request can set it aside.
func TestPlugins_Set_LeavesTheOperatorsPlugin(t *testing.T) {
	h := openWithPlugins(t, map[string]any{"plugins.default": []string{"always"}}, map[string][]byte{"a.wasm": always("always", 300)})
	c := dial(t, h)
	c.send(`{"type":"generate","id":"a","request":{"prompt":"Hello","ignore_eos":true,"trace":true}}`)
	c.until("started")
	c.send(`{"type":"pause","id":"a"}`)
	c.send(`{"type":"set","id":"a","sampling":{"samplers":["top_k"]}}`)
	c.send(`{"type":"resume","id":"a"}`)
	want := piece(t, 300)
	for range 20 {
		if f := c.until("token"); f.Text != want {
			t.Fatalf("got %q, the operator's plugin says %q", f.Text, want)
		}
	}
	c.send(`{"type":"cancel","id":"a"}`)
	c.until("end")
}

// counting ends the answer with its nth token, by its own count.
func counting(n int) []byte {
	g := asm.New(`{"name":"counting"}`)
	g.Globals = 1
	g.On(abi.ExportPrepare, asm.I32(0))
	g.On(abi.ExportOpen, asm.I32(0))
	return g.On(abi.ExportAccept, asm.Global(0), asm.I32(1), asm.Add, asm.SetGlobal(0),
		asm.Global(0), asm.I32(n), asm.Equal, asm.When(asm.I32(1), asm.Return), asm.I32(0)).Wasm()
}

// The parameters of an answer change around its plugin, which goes on with what it knows. So it does when its module is replaced meanwhile.
func TestPlugins_Set_ChangesTheSamplersAroundThem(t *testing.T) {
	h := openWithPlugins(t, map[string]any{"server.admin_key": "secret"}, map[string][]byte{"a.wasm": counting(40)})
	c := dial(t, h)
	c.send(`{"type":"generate","id":"a","request":{"prompt":"Hello","ignore_eos":true,"temperature":2,"max_tokens":90,"plugins":["counting"],"trace":true}}`)
	tokens := 0
	for ; tokens < 5; tokens++ {
		c.until("token")
	}
	c.send(`{"type":"pause","id":"a"}`)
	for f := c.frame(); f.Type != "paused"; f = c.frame() {
		tokens++
	}
	if status, body := admin(t, h, http.MethodPost, "/v1/plugins", counting(41)); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	c.send(`{"type":"set","id":"a","sampling":{"temperature":0,"samplers":["top_k","plugin:counting","temperature"]}}`)
	c.send(`{"type":"resume","id":"a"}`)
	set := false
	for {
		f := c.frame()
		switch f.Type {
		case "token":
			tokens++
			set = set || f.Trace.By == "greedy"
			if set && f.Trace.By != "greedy" {
				t.Errorf("token %d is by %q", tokens, f.Trace.By)
			}
			continue
		case "resumed":
			continue
		case "end":
		default:
			t.Errorf("got %+v", f)
			continue
		}
		if f.Reason != "stop" || tokens != 40 || !set {
			t.Errorf("%d tokens, set %v; %+v", tokens, set, f)
		}
		return
	}
}

// A traced answer can be steered like any other.
func TestTrace_Set_GoesOn(t *testing.T) {
	h := open(t, nil)
	run(t, h)
	c := dial(t, h)
	c.send(`{"type":"generate","id":"a","request":{"prompt":"Hello","ignore_eos":true,"trace":true}}`)
	c.until("started")
	c.send(`{"type":"pause","id":"a"}`)
	c.send(`{"type":"set","id":"a","sampling":{"temperature":0,"top_k":1}}`)
	c.send(`{"type":"set","id":"a","sampling":{"temperature":-1}}`)
	if f := c.until("error"); f.Error.Param != "temperature" {
		t.Errorf("got %+v", f)
	}
	c.goesOn("a")
}
