// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"encoding/base64"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"
	"github.com/penstock/penstock/host/access"
	"github.com/penstock/penstock/host/api/socket"
)

func TestSocket_Keys(t *testing.T) {
	r := newRig(t, func(s *setup) { s.Keys = keys("", nil, "a key/ü") })
	key := SubprotocolBearer + base64.RawURLEncoding.EncodeToString([]byte("a key/ü"))
	p := r.dial(socket.Subprotocol, key)
	if got := p.conn.Subprotocol(); got != socket.Subprotocol {
		t.Errorf("the host took subprotocol %q", got)
	}
	_, answer, err := websocket.Dial(context.Background(), r.url+"/v1/ws", &websocket.DialOptions{Subprotocols: []string{socket.Subprotocol, key + "x"}})
	if err == nil || answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("a wrong key: %v", err)
	}
}

// A client that can send no header sends its key first. Nothing is done before.
func TestSocket_Keys_InTheFirstFrame(t *testing.T) {
	r := newRig(t, func(s *setup) { s.Keys = keys("", nil, "right") })
	for name, frame := range map[string]string{
		"another key": `{"type":"authenticate","key":"wrong"}`, "no key": `{"type":"authenticate"}`, "no JSON": `right`, "another type": `{"type":"authenticate","key":["right"]}`,
		"another frame": `{"type":"generate","id":"a","key":"right","request":{"prompt":"x"}}`,
	} {
		p := r.dial()
		p.send("%s", frame)
		_ = p.conn.Write(t.Context(), websocket.MessageText, []byte(`{"type":"authenticate","key":"right"}`)) // the host may have closed it
		if f := p.next(); f.Type != "error" || f.Error.Code != "invalid_api_key" {
			t.Errorf("%s: %+v", name, f)
		}
		if _, _, err := p.conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
			t.Errorf("%s: %v, want that the connection ends", name, err)
		}
	}
	long := r.dial()
	frame := `{"type":"authenticate","key":"right","more":"` + strings.Repeat("x", 64<<10) + `"}`
	written := long.conn.Write(t.Context(), websocket.MessageText, []byte(frame)) // the host closes without reading all, which may cut off what it says
	if _, _, err := long.conn.Read(t.Context()); err == nil || written == nil && websocket.CloseStatus(err) != websocket.StatusMessageTooBig && websocket.CloseStatus(err) != -1 {
		t.Errorf("a long frame: %v", err)
	}
	silent := r.dial()
	for name, p := range map[string]*peer{"at first": r.dial(), "in vain": r.dial(SubprotocolBearer + base64.RawURLEncoding.EncodeToString([]byte("right")))} {
		p.send(`{"type":"authenticate","key":"right"}`)
		if f := p.next(); f.Type != "authenticated" {
			t.Errorf("%s: %+v", name, f)
		}
		p.send(`{"type":"generate","id":"a","request":{"prompt":"x","max_tokens":3,"user":"%s"}}`, strings.Repeat("x", 8<<10))
		if f := p.until("end"); f.Reason != "length" {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if len(r.ended) != 2 {
		t.Errorf("%d answers were computed, want 2", len(r.ended))
	}
	if _, _, err := silent.conn.Read(t.Context()); err == nil || t.Context().Err() != nil {
		t.Errorf("a silent connection: %v, want that it ends", err)
	}
}

// A key that is withdrawn begins nothing more on a connection that it has opened, however that got
// it. What goes on goes on.
func TestSocket_Keys_Withdrawn(t *testing.T) {
	const withdrawn = "withdrawn"
	for name, open := range map[string]func(*rig) *peer{
		"in the request": func(r *rig) *peer {
			return r.dial(SubprotocolBearer + base64.RawURLEncoding.EncodeToString([]byte(withdrawn)))
		},
		"in the first frame": func(r *rig) *peer {
			p := r.dial()
			p.send(`{"type":"authenticate","key":"%s"}`, withdrawn)
			p.until("authenticated")
			return p
		},
	} {
		var set atomic.Pointer[access.Keys]
		use := func(clients ...string) { set.Store(new(keys("", nil, clients...)())) }
		use(withdrawn, "other")
		gate := newGate()
		r := newRig(t, func(s *setup) { s.Keys = func() access.Keys { return *set.Load() }; gate.on(s) })
		defer gate.open()
		p := open(r)
		p.send(`{"type":"watch","every_ms":100}`)
		p.until("live")
		p.send(`{"type":"generate","id":"a","request":{"prompt":"x","max_tokens":3}}`)
		<-gate.held
		use("other")
		for _, frame := range []string{`{"type":"generate","id":"b","request":{"prompt":"x","max_tokens":3}}`, `{"type":"fork","id":"a","as":"c"}`,
			`{"type":"attach","id":"d","stream":"x","after":-1}`, `{"type":"watch","every_ms":100}`} {
			p.send("%s", frame)
			if f := p.until("error"); f.Error.Code != "invalid_api_key" {
				t.Errorf("%s, %s: %+v", name, frame, f)
			}
		}
		gate.open()
		if f := p.until("end"); f.ID != "a" || f.Reason != "length" {
			t.Errorf("%s: the answer that went on ended with %+v", name, f)
		}
	}
}
