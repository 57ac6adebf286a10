// SPDX-License-Identifier: MIT

package deploy

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/penstock/penstock/tools/must"
)

// endless is a number of tokens that no answer reaches.
const endless = 1_000_000_000

// A proxy that cuts idle connections cuts the WebSocket of an answer that is paused. Its client
// comes back, and nothing is lost or doubled. The answer has no end, so that it cannot be over
// before it is paused.
func TestProxy_CutsIdleSocket(t *testing.T) {
	t.Parallel() // most of it is waiting
	f := newFleet(t, map[string]string{"timeout tunnel 90s": "5s"}, "--context-shift")
	begins := f.know(t, question{prompt: "Tell me a story about a frog.", tokens: 500})
	c, s := &caller{url: f.url}, &said{seq: -1}
	hear := func(until func() bool) error {
		for !until() {
			got, err := c.read(t.Context())
			if err == nil {
				err = s.take(got)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	must.Do(t, c.begin(t.Context(), "", question{prompt: begins.prompt, tokens: endless}.generate()))
	must.Do(t, hear(func() bool { return s.stream != "" }))
	must.Do(t, c.send(t.Context(), object{"type": "pause", "id": "a"}))
	err := hear(func() bool { return false })
	if c.conn != nil || c.moved > 0 {
		t.Fatalf("%v; want the proxy to cut the connection", err)
	}
	must.Do(t, c.begin(t.Context(), s.home(), s.attach(), object{"type": "resume", "id": "a"}))
	defer c.leave()
	seen := s.seq
	if err := hear(func() bool { return s.seq > seen && len(s.text) >= len(begins.answer) }); err != nil {
		t.Errorf("after event %d of %d: %v", s.seq, seen, err)
	}
	if !strings.HasPrefix(s.text, begins.answer) {
		t.Errorf("got %q, want %q at the beginning", s.text, begins.answer)
	}
}

// A stream that waits for its first token is not idle: a comment every 10 s keeps it. A request
// without a stream is cut, and told why.
func TestProxy_CutsIdleRequest(t *testing.T) {
	t.Parallel() // most of it is waiting
	f := newFleet(t, map[string]string{"timeout server 1h": "25s"}, "--parallel", "1", "--context-shift")
	q := f.know(t, question{prompt: "Tell me a story about a frog.", tokens: 20})
	home := must.Get(ask(t.Context(), f.url, q, "a", 0))(t)
	free := f.occupy(t, home)
	stream := must.Get(q.post(t.Context(), f.url, true, "a", 0))(t)
	whole := must.Get(q.post(t.Context(), f.url, false, "a", 0))(t)
	defer whole.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(whole.Body)
	var told struct {
		Error struct{ Code, Message string }
	}
	if err != nil || json.Unmarshal(text, &told) != nil || whole.StatusCode != http.StatusGatewayTimeout || told.Error.Code != "gateway_timeout" || told.Error.Message == "" {
		t.Errorf("the request without a stream: %s %s, %v; want 504 and a sentence", whole.Status, text, err)
	}
	free() // only now, so the stream has waited for longer than the proxy lets a silent one
	if replica, err := q.check(stream); err != nil || replica != home {
		t.Errorf("the stream, of %s: %v; want an answer of %s", replica, err, home)
	}
}

// occupy has a replica with one slot write an answer without end, until free is called. It never
// waits for its reader.
func (f *fleet) occupy(t *testing.T, name string) (free func()) {
	t.Helper()
	c := &caller{url: "http://" + f.address[name]}
	q := question{prompt: "Tell me a story about a dog.", tokens: endless}
	must.Do(t, c.begin(t.Context(), "", object{"type": "generate", "id": "a", "request": q.body(), "overflow": "drop"}))
	if got, err := c.read(t.Context()); err != nil || got.Type != "started" {
		t.Fatalf("no answer begins: %+v, %v", got, err)
	}
	return c.hang
}
