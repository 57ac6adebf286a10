// SPDX-License-Identifier: MIT

package api

import (
	"strings"
	"testing"

	"github.com/penstock/penstock/scheduler/answer"
)

// hold starts an answer and has it paused near its beginning, so that it is alive for what
// follows. The gate must be the rig's.
func (p *peer) hold(r *rig, g *gate, id, extra string) serverFrame {
	p.t.Helper()
	p.send(`{"type":"generate","id":"%s"%s,"request":{"prompt":"x"}}`, id, extra)
	<-g.held
	g.pause(p, r, id)
	var started serverFrame
	for paused := false; started.Type == "" || !paused; {
		switch f := p.next(); f.Type {
		case "started":
			started = f
		case "paused":
			paused = true
		}
	}
	return started
}

func TestSocket_Controls(t *testing.T) {
	g := newGate()
	r := newRig(t, g.on)
	p := r.dial()
	p.hold(r, g, "a", "")
	p.send(`{"type":"inject","id":"a","text":"ABC"}`)
	p.send(`{"type":"rewind","id":"a","tokens":1}`)
	p.send(`{"type":"set","id":"a","sampling":{"temperature":0.1,"top_k":4e1,"logit_bias":{"3":1}}}`)
	p.send(`{"type":"resume","id":"a"}`)
	var text strings.Builder
	for {
		f := p.next()
		if text.WriteString(f.Text); f.Type == "error" {
			t.Fatalf("got %+v", f)
		}
		if f.Type == "end" {
			break
		}
	}
	if !strings.Contains(text.String(), " 65 66 67") {
		t.Errorf("the injected text is not in the answer")
	}
}

func TestSocket_Controls_Bad(t *testing.T) {
	g := newGate()
	r := newRig(t, g.on)
	p := r.dial()
	p.hold(r, g, "a", "")
	for _, tc := range []struct{ frame, code, param string }{
		{`{"type":"inject","id":"a"}`, "invalid_value", "text"},
		{`{"type":"inject","id":"a","text":""}`, "invalid_value", "text"},
		{`{"type":"inject","id":"a","text":"` + strings.Repeat("x", contextSize) + `"}`, "invalid_value", "text"},
		{`{"type":"rewind","id":"a"}`, "invalid_value", "tokens"},
		{`{"type":"rewind","id":"a","tokens":-1}`, "invalid_value", "tokens"},
		{`{"type":"rewind","id":"a","tokens":99999}`, "invalid_value", "tokens"},
		{`{"type":"set","id":"a"}`, "invalid_value", "sampling"},
		{`{"type":"set","id":"a","sampling":{"temprature":1}}`, "invalid_value", "sampling"},
		{`{"type":"set","id":"a","sampling":{"temperature":-1}}`, "invalid_value", "temperature"},
		{`{"type":"set","id":"a","sampling":{"top_p":"x"}}`, "invalid_type", "top_p"},
		{`{"type":"set","id":"a","sampling":{"grammar":"bad"}}`, "invalid_value", "grammar"},
		{`{"type":"set","id":"a","sampling":{"preserved_tokens":["<x>"]}}`, "unsupported", "preserved_tokens"},
	} {
		p.send("%s", tc.frame)
		if f := p.until("error"); f.ID != "a" || f.Error.Code != tc.code || f.Error.Param != tc.param {
			t.Errorf("%.80s: got %+v", tc.frame, f)
		}
	}
	p.send(`{"type":"cancel","id":"a"}`)
	if f := p.until("end"); f.Reason != "cancelled" {
		t.Errorf("got %+v", f)
	}
}

func TestSocket_Attach_GoesOnWhereTheConnectionWasLost(t *testing.T) {
	r := newRig(t, nil)
	var want strings.Builder
	whole := r.dial()
	whole.send(`{"type":"generate","id":"w","request":{"prompt":"x","max_tokens":600}}`)
	for f := whole.next(); f.Type != "end"; f = whole.next() {
		want.WriteString(f.Text)
	}
	lost := r.dial()
	lost.send(`{"type":"generate","id":"a","detach_ms":60000,"request":{"prompt":"x","max_tokens":600}}`)
	started := lost.next()
	var got strings.Builder
	var seq uint64
	for range 10 {
		f := lost.next()
		got.WriteString(f.Text)
		seq = f.Seq
	}
	lost.conn.CloseNow() //nolint:errcheck // that is the point

	p := r.dial()
	p.send(`{"type":"attach","id":"b","stream":"%s","after":%d}`, started.Stream, seq)
	for {
		f := p.next()
		if f.Type == "error" || f.ID != "b" {
			t.Fatalf("got %+v", f)
		}
		got.WriteString(f.Text)
		if f.Type == "end" {
			if f.Reason != "length" {
				t.Errorf("got %+v", f)
			}
			break
		}
	}
	if got.String() != want.String() {
		t.Errorf("joined text differs: %d bytes, want %d", got.Len(), want.Len())
	}
	// The end may have been lost on the way: it can be had again.
	again := r.dial()
	again.send(`{"type":"attach","id":"c","stream":"%s","after":600}`, started.Stream)
	if f := again.until("end"); f.ID != "c" {
		t.Errorf("got %+v", f)
	}
	again.send(`{"type":"attach","id":"d","stream":"%s","after":9999}`, started.Stream)
	if f := again.next(); f.Type != "error" || f.Error.Code != "events_gone" {
		t.Errorf("got %+v", f)
	}
}

// What a lost connection was sent need not have arrived: however much it was, it can be had again
// until the time is up.
func TestSocket_Attach_AllThatWasSentCanBeHadAgain(t *testing.T) {
	r := newRig(t, nil)
	lost := r.dial()
	lost.send(`{"type":"generate","id":"a","detach_ms":60000,"request":{"prompt":"x","max_tokens":1500}}`)
	started, seen := lost.next(), lost.next()
	r.outcome()          // the connection was sent all of it
	lost.conn.CloseNow() //nolint:errcheck // that is the point

	p := r.dial()
	p.send(`{"type":"attach","id":"b","stream":"%s","after":%d}`, started.Stream, seen.Seq)
	for want := seen.Seq + 1; ; want++ {
		f := p.next()
		if f.Type == "end" {
			if want != 1501 {
				t.Errorf("the end comes after event %d", want-1)
			}
			return
		}
		if f.Type != "token" || f.Seq != want {
			t.Fatalf("got %+v, want event %d", f, want)
		}
	}
}

// A client may come back before the host has noticed that the old connection is dead.
func TestSocket_Attach_TakesOver(t *testing.T) {
	g := newGate()
	r := newRig(t, g.on)
	old, fresh := r.dial(), r.dial()
	started := old.hold(r, g, "a", `,"detach_ms":60000`)
	fresh.send(`{"type":"attach","id":"b","stream":"%s","after":-1}`, started.Stream)
	if f := fresh.next(); f.Type != "paused" || f.ID != "b" {
		t.Errorf("got %+v", f)
	}
	if f := fresh.next(); f.Type != "started" || f.ID != "b" || f.Seed != started.Seed {
		t.Errorf("got %+v, first it was %+v", f, started)
	}
	fresh.send(`{"type":"cancel","id":"b"}`)
	if f := fresh.until("end"); f.Reason != "cancelled" {
		t.Errorf("got %+v", f)
	}
}

// Nor does it wait for an old connection that is dead and full.
func TestSocket_Attach_TakesOverFromAFullConnection(t *testing.T) {
	r := newRig(t, nil)
	old, fresh := r.dialTight(), r.dial()
	old.send(`{"type":"generate","id":"a","detach_ms":60000,"request":{"prompt":"x","max_tokens":1900}}`)
	started := old.until("started")
	r.awaitParked(fresh, 1)
	fresh.send(`{"type":"attach","id":"b","stream":"%s","after":-1}`, started.Stream)
	if f := fresh.next(); f.Type != "started" || f.ID != "b" {
		t.Errorf("got %+v", f)
	}
	if f := fresh.until("end"); f.Reason != "length" {
		t.Errorf("got %+v", f)
	}
}

func TestSocket_Detached_IsCancelledWhenTimeIsUp(t *testing.T) {
	g := newGate()
	r := newRig(t, g.on)
	p := r.dial()
	started := p.hold(r, g, "a", `,"detach_ms":30`)
	p.conn.CloseNow() //nolint:errcheck // that is the point
	if got := r.outcome(); got.Reason != answer.ReasonCancelled {
		t.Errorf("ended by %v", got.Reason)
	}
	later := r.dial()
	later.send(`{"type":"attach","id":"a","stream":"%s","after":-1}`, started.Stream)
	if f := later.next(); f.Type != "error" || f.Error.Code != "unknown_stream" {
		t.Errorf("got %+v", f)
	}
}
