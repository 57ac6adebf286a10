// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/penstock/penstock/host/chat"
)

// slowTemplate is a model whose template takes as long as the test wants, or panics.
type slowTemplate struct {
	toy
	begun chan struct{}
	goOn  chan struct{}
}

func newSlowTemplate() slowTemplate {
	return slowTemplate{begun: make(chan struct{}, 9), goOn: make(chan struct{})}
}

func (s slowTemplate) Render(ctx context.Context, c chat.Conversation) (chat.Prompt, error) {
	if c.Messages[0].Content == "panic" {
		panic("the template is broken")
	}
	s.begun <- struct{}{}
	<-s.goOn
	return s.toy.Render(ctx, c)
}

const slowly = `"request":{"messages":[{"role":"user","content":"x"}],"max_tokens":900}`

// answered reads to the next frame that is no token: of a paused answer some may be on their way.
func (p *peer) answered() serverFrame {
	p.t.Helper()
	f := p.next()
	for f.Type == "token" {
		f = p.next()
	}
	return f
}

// Frames are read while an answer is being prepared: others are steered meanwhile, its id is
// taken, and a cancel ends it at once.
func TestSocket_Generate_PreparedBesideTheReader(t *testing.T) {
	template, g := newSlowTemplate(), newGate()
	r := newRig(t, func(s *setup) { g.on(s); s.Engine = template })
	p := r.dial()
	p.hold(r, g, "other", "")
	p.send(`{"type":"generate","id":"a",%s}`, slowly)
	await(t, template.begun)
	p.send(`{"type":"generate","id":"a",%s}`, slowly)
	if f := p.answered(); f.Type != "error" || f.ID != "a" || f.Error.Param != "id" || !strings.Contains(f.Error.Message, "in use") {
		t.Errorf("a second answer of the name: %+v", f)
	}
	p.send(`{"type":"pause","id":"other"}`)
	if f := p.answered(); f.Type != "paused" || f.ID != "other" {
		t.Errorf("an answer beside it: %+v", f)
	}
	p.send(`{"type":"inject","id":"a","text":"never"}`)
	p.send(`{"type":"cancel","id":"a"}`)
	cancelled, refused := p.answered(), p.answered()
	if cancelled.Type == "error" {
		cancelled, refused = refused, cancelled
	}
	if cancelled.Type != "end" || cancelled.ID != "a" || cancelled.Reason != "cancelled" {
		t.Errorf("got %+v", cancelled)
	}
	if refused.Type != "error" || refused.Frame != "inject" || refused.Error.Code != "unknown_id" {
		t.Errorf("a frame that waited: %+v", refused)
	}
	close(template.goOn)
	p.send(`{"type":"cancel","id":"other"}`)
	if f := p.until("end"); f.ID != "other" || f.Reason != "cancelled" {
		t.Errorf("got %+v", f)
	}
	p.send(`{"type":"generate","id":"a","request":{"prompt":"x","max_tokens":1}}`)
	if f := p.until("end"); f.ID != "a" || f.Reason != "length" {
		t.Errorf("the id is not free: %+v", f)
	}
}

// What is sent for an answer before it is begun counts when it is. More than may wait is refused.
func TestSocket_Generate_FramesWaitUntilItIsPrepared(t *testing.T) {
	template, g := newSlowTemplate(), newGate()
	r := newRig(t, func(s *setup) { g.on(s); s.Engine = template })
	p := r.dial()
	p.send(`{"type":"generate","id":"a",%s}`, slowly)
	await(t, template.begun)
	p.send(`{"type":"pause","id":"a"}`)
	for range 29 {
		p.send(`{"type":"set","id":"a","sampling":{"temperature":0.1}}`)
	}
	p.send(`{"type":"inject","id":"a","text":"ABC"}`)
	p.send(`{"type":"resume","id":"a"}`)
	p.send(`{"type":"rewind","id":"a","tokens":1}`)
	if f := p.next(); f.Type != "error" || f.ID != "a" || f.Frame != "rewind" || f.Error.Code != "too_many_frames" {
		t.Errorf("a frame too many: %+v", f)
	}
	close(template.goOn)
	<-g.held
	g.untilPaused(p, r)
	var text strings.Builder
	for f := p.next(); f.Type != "end"; f = p.next() {
		if text.WriteString(f.Text); f.Type == "error" {
			t.Fatalf("got %+v", f)
		}
	}
	if !strings.Contains(text.String(), " 65 66 67") {
		t.Error("what was injected is not in the answer")
	}
}

// The memory of a frame is taken until it was acted on.
func TestSocket_Generate_KeepsItsMemoryWhilePrepared(t *testing.T) {
	template := newSlowTemplate()
	r := newRig(t, func(s *setup) { s.Engine, s.BodyLimit, s.BodyMemory = template, 256<<10, 256<<10 })
	p := r.dial()
	p.send(`{"type":"generate","id":"a","request":{"user":"%s","messages":[{"role":"user","content":"x"}]}}`, strings.Repeat("x", 200<<10))
	await(t, template.begun)
	large := `{"content":"` + strings.Repeat("a", 200<<10) + `"}`
	if status, _, body := r.call(http.MethodPost, "/tokenize", large); status != 503 || !strings.Contains(body, "bodies_too_large") {
		t.Errorf("a body beside it: %d %.200s", status, body)
	}
	p.send(`{"type":"cancel","id":"a"}`)
	p.until("end")
	close(template.goOn)
	if status, _, body := r.call(http.MethodPost, "/tokenize", large); status != 200 {
		t.Errorf("a body after it: %d %.200s", status, body)
	}
}

// A panic ends one answer, and neither its connection nor the process.
func TestSocket_Generate_Panics(t *testing.T) {
	r := newRig(t, func(s *setup) { s.Engine = newSlowTemplate() })
	p := r.dial()
	p.send(`{"type":"generate","id":"a","request":{"messages":[{"role":"user","content":"panic"}]}}`)
	if f := p.next(); f.Type != "error" || f.ID != "a" || f.Error.Code != "internal_error" || strings.Contains(f.Error.Message, "broken") {
		t.Errorf("got %+v", f)
	}
	p.send(`{"type":"generate","id":"a","request":{"prompt":"x","max_tokens":1}}`)
	p.until("end")
}

// unfinished sends a frame of size bytes without its end, and without waiting for who does not
// want it.
func (p *peer) unfinished(ctx context.Context, size int) {
	p.t.Helper()
	w, err := p.conn.Writer(ctx, websocket.MessageText)
	if err != nil {
		p.t.Error(err)
		return
	}
	_, _ = w.Write(make([]byte, size)) // it may be cut off
}

// A frame that never ends ends its connection.
func TestSocket_Frame_NeverEnds(t *testing.T) {
	for _, size := range []int{16 << 10, 60 << 10} { // within the limit, and beyond it
		r := newRig(t, func(s *setup) { s.BodyTimeout, s.BodyLimit = 1, 32<<10 })
		p := r.dial()
		p.unfinished(t.Context(), size)
		if f := p.next(); f.Type != "error" || f.Error.Code != "incomplete_frame" || !strings.Contains(f.Error.Message, "server.body_timeout") {
			t.Errorf("%d bytes: %+v", size, f)
		}
		if _, _, err := p.conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
			t.Errorf("%d bytes: %v, want that the connection ends", size, err)
		}
	}
}

// However many frames one client leaves unfinished, the large bodies and frames of others are read.
func TestSocket_BodyMemory_OneCallerLeavesRoom(t *testing.T) {
	r := newRig(t, func(s *setup) {
		s.Keys, s.BodyLimit, s.BodyMemory = keys("", nil, "one", "two"), 256<<10, 1<<20
	})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for range 12 {
		p := r.dial()
		p.send(`{"type":"authenticate","key":"one"}`)
		p.until("authenticated")
		p.unfinished(ctx, 200<<10)
	}
	large := `{"content":"` + strings.Repeat("a", 200<<10) + `"}`
	full := false
	for i := 0; i < 5000 && !full; i++ { // until the frames are read
		status, _, _ := r.call(http.MethodPost, "/tokenize", large, "Authorization", "Bearer one")
		full = status == 503
	}
	if !full {
		t.Error("one client's frames never take its share")
	}
	if status, _, body := r.call(http.MethodPost, "/tokenize", large, "Authorization", "Bearer two"); status != 200 {
		t.Errorf("a body of another: %d %.200s", status, body)
	}
	p := r.dial()
	p.send(`{"type":"authenticate","key":"two"}`)
	p.until("authenticated")
	p.send(`{"type":"generate","id":"a","request":{"prompt":"x","max_tokens":1,"user":"%s"}}`, strings.Repeat("x", 200<<10))
	if f := p.until("end"); f.Reason != "length" {
		t.Errorf("a frame of another: %+v", f)
	}
}
