// SPDX-License-Identifier: MIT

package plugins

import (
	"net/http"
	"strings"
	"testing"

	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/plugins/asm"
	"github.com/penstock/penstock/tests/hosts"
)

// Plugins are chosen with the request. A set that would change them is refused, and the answer
// goes on as it began.
func TestPlugins_Set_RefusedForThatCallOnly(t *testing.T) {
	h := hosts.OpenWithPlugins(t, nil, map[string][]byte{"a.wasm": hosts.Always("always", 300), "b.wasm": hosts.Always("other", 301)})
	c := hosts.Dial(t, h)
	c.Send(`{"type":"generate","id":"plain","request":{"prompt":"Hello","ignore_eos":true}}`)
	c.Until("started")
	c.Send(`{"type":"pause","id":"plain"}`)
	c.Send(`{"type":"generate","id":"guided","request":{"prompt":"Hello","ignore_eos":true,"plugins":["always"]}}`)
	c.Until("started")
	c.Send(`{"type":"pause","id":"guided"}`)
	for _, tc := range []struct{ id, sampling, param, says string }{
		{"plain", `{"plugins":["always"]}`, "sampling", `"plugins"`},
		{"plain", `{"samplers":["plugin:always","top_k"]}`, "samplers", "plugin:always"},
		{"guided", `{"plugins":["other"]}`, "sampling", `"plugins"`},
		{"guided", `{"samplers":["plugin:other"]}`, "samplers", "plugin:other"},
		{"guided", `{"top_k":5,"temperature":-1}`, "temperature", "temperature"},
	} {
		c.Send(`{"type":"set","id":"` + tc.id + `","sampling":` + tc.sampling + `}`)
		if f := c.Until("error"); f.ID != tc.id || f.Error.Code != "invalid_value" || f.Error.Param != tc.param || !strings.Contains(f.Error.Message, tc.says) {
			t.Errorf("%s %s: got %+v", tc.id, tc.sampling, f)
		}
	}
	c.Send(`{"type":"set","id":"plain","sampling":{"temperature":0}}`)
	for _, id := range []string{"plain", "guided"} {
		c.GoesOn(id)
	}
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

// The parameters of an answer change around its plugin, which goes on with what it knows. So it
// does when its module is replaced meanwhile.
func TestPlugins_Set_ChangesTheSamplersAroundThem(t *testing.T) {
	h := hosts.OpenWithPlugins(t, map[string]any{"server.admin_key": "secret"}, map[string][]byte{"a.wasm": counting(40)})
	c := hosts.Dial(t, h)
	c.Send(`{"type":"generate","id":"a","request":{"prompt":"Hello","ignore_eos":true,"temperature":2,"max_tokens":90,"plugins":["counting"],"trace":true}}`)
	tokens := 0
	for ; tokens < 5; tokens++ {
		c.Until("token")
	}
	c.Send(`{"type":"pause","id":"a"}`)
	for f := c.Frame(); f.Type != "paused"; f = c.Frame() {
		tokens++
	}
	if status, body := hosts.Admin(t, h, http.MethodPost, "/v1/plugins", counting(41)); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	c.Send(`{"type":"set","id":"a","sampling":{"temperature":0,"samplers":["top_k","plugin:counting","temperature"]}}`)
	c.Send(`{"type":"resume","id":"a"}`)
	set := false
	for {
		f := c.Frame()
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
