// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"
	"github.com/penstock/penstock/tools/must"
)

// holder counts what has the host go on.
type holder struct {
	left     *atomic.Int64
	released chan struct{}
}

func newHolder() holder { return holder{&atomic.Int64{}, make(chan struct{}, 100)} }

func (h holder) hold() (release func()) {
	h.left.Add(1)
	return func() {
		h.left.Add(-1)
		h.released <- struct{}{}
	}
}

// goodbye waits for the end of the connection.
func (p *peer) goodbye() {
	p.t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	if _, data, err := p.conn.Read(ctx); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		p.t.Errorf("got %q, %v; want a goodbye", data, err)
	}
}

// A connection without answers is closed when the server begins to drain. One with an answer takes
// no more of them, and is closed when all of it is sent.
func TestSocket_Draining_ClosesWhenAnswersAreSent(t *testing.T) {
	draining, g := make(chan struct{}), newGate()
	r := newRig(t, func(s *setup) {
		s.Draining = draining
		g.on(s)
	})
	defer g.open()
	idle, busy := r.dial(), r.dial()
	busy.send(`{"type":"generate","id":"a","request":{"prompt":"x","max_tokens":20}}`)
	<-g.held
	r.scheduler.Drain()
	close(draining)
	idle.goodbye()
	busy.send(`{"type":"generate","id":"b","request":{"prompt":"x","max_tokens":2}}`)
	if f := busy.until("error"); f.ID != "b" || f.Error.Code != "shutting_down" {
		t.Errorf("got %+v", f)
	}
	g.open()
	if f := busy.until("end"); f.ID != "a" || f.Reason != "length" {
		t.Errorf("got %+v", f)
	}
	busy.goodbye()
}

// An answer whose client has lost the connection has the host go on until the client has come back
// and has all of it.
func TestSocket_Draining_WaitsForLostClients(t *testing.T) {
	draining, h := make(chan struct{}), newHolder()
	r := newRig(t, func(s *setup) { s.Draining, s.Hold, s.Replica = draining, h.hold, "r1" })
	lost := r.dial()
	lost.send(`{"type":"generate","id":"a","detach_ms":60000,"request":{"prompt":"x","max_tokens":20}}`)
	stream := lost.until("started").Stream
	if !strings.HasPrefix(stream, "r1.") {
		t.Errorf("the stream is called %q", stream)
	}
	lost.until("end")    // which is lost on its way, for all that the server knows
	lost.conn.CloseNow() //nolint:errcheck // the connection is lost
	await(t, h.released) // that of the connection
	if left := h.left.Load(); left != 1 {
		t.Fatalf("%d are held, want the answer", left)
	}
	close(draining)
	back := r.dial()
	back.send(`{"type":"attach","id":"b","stream":"%s","after":3}`, stream)
	if f := back.next(); f.Type != "token" || f.Seq != 4 {
		t.Errorf("got %+v", f)
	}
	back.until("end")
	if left := h.left.Load(); left != 1 {
		t.Errorf("%d are held before the client has read the end, want 1", left)
	}
	back.goodbye()
	await(t, h.released)
	r.dial() // a client that may come back is not refused
}

// A client that has closed the connection after its answer needs the server no more.
func TestSocket_Closed_HoldsNothing(t *testing.T) {
	h := newHolder()
	r := newRig(t, func(s *setup) { s.Hold = h.hold })
	p := r.dial()
	p.send(`{"type":"generate","id":"a","detach_ms":60000,"request":{"prompt":"x","max_tokens":5}}`)
	p.until("end")
	must.Do(t, p.conn.Close(websocket.StatusNormalClosure, ""))
	await(t, h.released) // the answer
	await(t, h.released) // the connection
	if left := h.left.Load(); left != 0 {
		t.Errorf("%d are held", left)
	}
}

// An answer over HTTP has the host go on, whatever its scheduler has done already.
func TestHTTP_Draining_AnswerHolds(t *testing.T) {
	h := newHolder()
	r := newRig(t, func(s *setup) { s.Hold = h.hold })
	if status, _, text := r.call(http.MethodPost, "/v1/completions", `{"prompt":"x","max_tokens":3,"stream":true}`); status != http.StatusOK {
		t.Fatal(text)
	}
	await(t, h.released)
	if left := h.left.Load(); left != 0 {
		t.Errorf("%d are held", left)
	}
}

// Whatever would have to be computed is refused while the server drains, in the words of each API,
// so that a proxy asks another.
func TestHTTP_Draining_Refuses(t *testing.T) {
	draining := make(chan struct{})
	close(draining)
	r := newRig(t, func(s *setup) { s.Draining = draining })
	for _, path := range []string{"/v1/chat/completions", "/v1/embeddings", "/v1/messages", "/api/chat", "/tokenize"} {
		status, header, text := r.call(http.MethodPost, path, `{}`)
		if status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" || !strings.Contains(text, "shutting down") {
			t.Errorf("%s: %d %v %s", path, status, header, text)
		}
	}
	if status, _, text := r.call(http.MethodGet, "/v1/models", ""); status != http.StatusOK {
		t.Errorf("the list of models: %d %s", status, text)
	}
}

// A stream that another server has is not this one's, and the client is told where to go.
func TestSocket_Attach_OfAnotherServer(t *testing.T) {
	r := newRig(t, func(s *setup) { s.Replica = "r1" })
	p := r.dial()
	for stream, want := range map[string]string{
		"r2.ABC":             `"r2"`,
		"host.example.org.A": `"host.example.org"`,
		"r1.ABC":             "no such stream",
		"ABC":                "no such stream",
		"":                   "no such stream",
		".":                  "no such stream",
	} {
		p.send(`{"type":"attach","id":"a","stream":"%s","after":-1}`, stream)
		if f := p.until("error"); f.Error.Code != "unknown_stream" || !strings.Contains(f.Error.Message, want) {
			t.Errorf("%q: %+v, want %s", stream, f.Error, want)
		}
	}
}
