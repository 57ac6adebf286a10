// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/penstock/penstock/host/chat"
)

// parity is a model whose answers have parts: of the numbers that it says, the even digits are
// reasoning and the odd ones content.
type parity struct {
	toy
	gate chan struct{} // nil, or a parse waits until it is closed
	fail bool
}

func (p parity) Render(ctx context.Context, c chat.Conversation) (chat.Prompt, error) {
	prompt, err := p.toy.Render(ctx, c)
	prompt.HasParts, prompt.NewParser = true, func() (chat.Parser, error) { return p, nil }
	return prompt, err
}

func (p parity) Add(text string, _ bool) (deltas []chat.Delta, err error) {
	if p.gate != nil {
		<-p.gate
	}
	if p.fail {
		return nil, errors.New("the parser is broken")
	}
	reasoning, content := partsOf(text)
	return []chat.Delta{{Reasoning: reasoning}, {Content: content}}, nil
}

func (parity) Cut() ([]chat.Delta, error) { return nil, nil }
func (parity) Close() error               { return nil }

func partsOf(text string) (reasoning, content string) {
	for _, c := range text {
		switch {
		case strings.ContainsRune("02468", c):
			reasoning += string(c)
		case strings.ContainsRune("13579", c):
			content += string(c)
		}
	}
	return reasoning, content
}

// reader is what a client has of an answer.
type reader struct {
	text, reasoning, content string
	seq                      uint64
	tokens, resets, parts    int
	rewound                  []string
	resumed                  bool
	end                      *serverFrame
}

func (r *reader) take(t *testing.T, f serverFrame) {
	t.Helper()
	switch f.Type {
	case "token":
		r.text, r.seq, r.tokens = r.text+f.Text, f.Seq, r.tokens+1
	case "rewound":
		if !strings.HasSuffix(r.text, f.Removed) || f.Seq <= r.seq {
			t.Errorf("%+v after event %d and %q", f, r.seq, r.text)
		}
		r.text, r.seq, r.tokens = strings.TrimSuffix(r.text, f.Removed), f.Seq, r.tokens-f.Tokens
		r.rewound = append(r.rewound, f.Removed)
	case "parts":
		if r.parts++; f.Reset {
			r.reasoning, r.content = "", ""
			r.resets++
		}
		r.reasoning, r.content = r.reasoning+f.Reasoning, r.content+f.Content
	case "resumed":
		r.resumed = true
	case "end":
		r.end = &f
	case "error":
		t.Fatalf("got %+v", f)
	}
}

// read takes frames until the end, or until enough says so.
func (r *reader) read(p *peer, enough func() bool) {
	p.t.Helper()
	for r.end == nil && !enough() {
		r.take(p.t, p.next())
	}
}

func never() bool { return false }

// check compares what the parts say with what the tokens do.
func (r *reader) check(t *testing.T) {
	t.Helper()
	if reasoning, content := partsOf(r.text); r.reasoning != reasoning || r.content != content {
		t.Errorf("the parts are %q and %q, of %q", r.reasoning, r.content, r.text)
	}
}

func TestSocket_Parts_AreWhatTheParserFinds(t *testing.T) {
	r := newRig(t, func(s *setup) { s.Engine = parity{} })
	p := r.dial()
	for _, tc := range []struct {
		options string
		parts   bool
	}{{`,"parts":true`, true}, {`,"parts":true,"overflow":"drop"`, true}, {`,"parts":true,"overflow":"cancel"`, true}, {``, false}, {`,"parts":false`, false}} {
		var a reader
		p.send(`{"type":"generate","id":"a"%s,"request":{%s,"max_tokens":200}}`, tc.options, hello)
		a.read(p, never)
		if tc.parts {
			a.check(t)
		}
		if a.end.Reason != "length" || a.text == "" || (a.parts > 0) != tc.parts || a.resets != 0 {
			t.Errorf("%s: %d parts, %d resets, %+v", tc.options, a.parts, a.resets, a.end)
		}
	}
	var plain reader // a text has no parser: it is content as it comes
	p.send(`{"type":"generate","id":"a","parts":true,"request":{"prompt":"x","max_tokens":20}}`)
	if plain.read(p, never); plain.content != plain.text || plain.reasoning != "" || plain.text == "" {
		t.Errorf("%q and %q of %q", plain.content, plain.reasoning, plain.text)
	}
}

// What is taken back is told where it happens, and the parts begin anew.
func TestSocket_Rewind_IsTold(t *testing.T) {
	g := newGate()
	r := newRig(t, func(s *setup) { g.on(s); s.Engine = parity{} })
	p := r.dial()
	var a, b reader
	p.send(`{"type":"generate","id":"a","parts":true,"detach_ms":60000,"request":{%s,"max_tokens":60}}`, hello)
	<-g.held
	g.pause(p, r, "a")
	started := p.until("started")
	p.send(`{"type":"inject","id":"a","text":"ABC"}`)
	p.send(`{"type":"rewind","id":"a","tokens":2}`)
	a.read(p, func() bool { return a.resets > 0 && strings.HasSuffix(a.text, " 65") })
	a.check(t)
	if want := " 66 67"; len(a.rewound) != 1 || a.rewound[0] != want || strings.Contains(a.text, want) {
		t.Errorf("taken back are %q, want %q; left is %q", a.rewound, want, a.text)
	}
	p.conn.CloseNow() //nolint:errcheck // the client comes back

	again := r.dial()
	again.send(`{"type":"attach","id":"b","stream":"%s","after":%d}`, started.Stream, a.seq)
	if f := again.next(); f.Type != "paused" || f.ID != "b" {
		t.Errorf("a client that comes back is told %+v", f)
	}
	if f := again.next(); f.Type != "parts" || !f.Reset || f.Content != a.content || f.Reasoning != a.reasoning {
		t.Errorf("a client that comes back is told %+v, it had %q and %q", f, a.content, a.reasoning)
	}
	again.send(`{"type":"resume","id":"b"}`)
	a.read(again, never)
	a.check(t)
	if a.tokens != a.end.Usage.Completion || a.tokens != 60 || !a.resumed {
		t.Errorf("%d tokens are left, the host counts %d", a.tokens, a.end.Usage.Completion)
	}
	again.send(`{"type":"attach","id":"c","stream":"%s","after":-1}`, started.Stream)
	b.read(again, never)
	b.check(t)
	if b.text != a.text || len(b.rewound) != 1 {
		t.Errorf("read again it is %q, with %q taken back; the first reader has %q", b.text, b.rewound, a.text)
	}
	again.send(`{"type":"attach","id":"d","stream":"%s","after":%d}`, started.Stream, a.seq)
	var late reader
	if late.read(again, never); late.content != a.content || late.resets != 1 || late.text != "" {
		t.Errorf("after the end the parts say %q in %d, want %q; %q", late.content, late.parts, a.content, late.text)
	}
}

// A fork has parts of its own, if it wants them, of the tokens of its source too.
func TestSocket_Fork_HasParts(t *testing.T) {
	g := newGate()
	r := newRig(t, func(s *setup) { g.on(s); s.Engine = parity{} })
	p := r.dial()
	p.send(`{"type":"generate","id":"a","request":{%s}}`, hello)
	<-g.held
	g.pause(p, r, "a")
	p.send(`{"type":"inject","id":"a","text":"ABC"}`)
	p.send(`{"type":"fork","id":"a","as":"b","parts":true}`)
	var b reader
	for b.end == nil {
		if f := p.next(); f.ID == "b" {
			b.take(t, f)
		}
	}
	if b.check(t); !strings.Contains(b.text, " 65 66 67") {
		t.Errorf("it says %q", b.text)
	}
	p.send(`{"type":"cancel","id":"a"}`)
	p.until("end")
}

// A parse that takes long holds up no token.
func TestSocket_Parts_SlowParserHoldsUpNoToken(t *testing.T) {
	gate := make(chan struct{})
	r := newRig(t, func(s *setup) { s.Engine = parity{gate: gate} })
	p := r.dial()
	var a reader
	p.send(`{"type":"generate","id":"a","parts":true,"request":{%s,"max_tokens":100}}`, hello)
	a.read(p, func() bool { return a.tokens == 100 })
	if a.parts > 0 {
		t.Errorf("%d parts of a parser that waits", a.parts)
	}
	close(gate)
	if a.read(p, never); a.parts == 0 {
		t.Error("no parts before the end")
	}
	a.check(t)
}

// A parser that breaks ends its answer with an error. A client that goes away in the middle of a
// parse leaves nothing behind.
func TestSocket_Parts_BrokenParserEndsTheAnswer(t *testing.T) {
	r := newRig(t, func(s *setup) { s.Engine = parity{fail: true} })
	p := r.dial()
	var a reader
	p.send(`{"type":"generate","id":"a","parts":true,"request":{%s}}`, hello)
	if a.read(p, never); a.end.Reason != "error" || !strings.Contains(a.end.Error.Message, "the parser is broken") {
		t.Errorf("got %+v", a.end)
	}
	gate := make(chan struct{})
	r = newRig(t, func(s *setup) { s.Engine = parity{gate: gate} })
	p = r.dial()
	p.send(`{"type":"generate","id":"a","parts":true,"request":{%s}}`, hello)
	p.until("token")
	p.conn.CloseNow() //nolint:errcheck // that is the point
	r.outcome()
	close(gate)
}

// Who asks for a pause is told when it has happened; a refusal changes nothing.
func TestSocket_Pause_IsAnswered(t *testing.T) {
	r := newRig(t, nil)
	p := r.dial()
	p.send(`{"type":"generate","id":"a","request":{"prompt":"x"}}`)
	for i := range 3 {
		for _, state := range []string{"paused", "resumed"} {
			p.send(`{"type":"%s","id":"a"}`, strings.TrimSuffix(state, "d"))
			if f := p.until(state); f.ID != "a" {
				t.Errorf("%d: got %+v", i, f)
			}
		}
	}
	p.send(`{"type":"pause","id":"nobody"}`)
	if f := p.until("error"); f.Frame != "pause" {
		t.Errorf("got %+v", f)
	}
	p.send(`{"type":"cancel","id":"a"}`)
	p.until("end")
}

// Text that is held back until the end comes in a token frame before its part. A client that has
// seen that frame, and not the end, is told of the end alone.
func TestSocket_End_HeldTextComesOnce(t *testing.T) {
	for _, options := range []string{"", `,"parts":true`} {
		g := newGate()
		r := newRig(t, g.on)
		p := r.dial()
		p.send(`{"type":"generate","id":"a","detach_ms":60000%s,"request":{%s,"stop":["5 never"]}}`, options, hello)
		<-g.held
		g.pause(p, r, "a")
		started := p.until("started")
		p.send(`{"type":"inject","id":"a","text":"A"}`)
		p.send(`{"type":"cancel","id":"a"}`)
		var text, parts string
		var last uint64
		for f := p.next(); f.Type != "end"; f = p.next() {
			text, parts = text+f.Text, parts+f.Content
			if f.Type == "token" {
				last = f.Seq
			}
			if !strings.HasPrefix(text, parts) {
				t.Errorf("%q: the parts have %q already, the tokens %q", options, parts, text)
			}
		}
		if !strings.HasSuffix(text, " 65") || (parts != "" && parts != text) {
			t.Errorf("%q: the tokens have %q, the parts %q", options, text, parts)
		}
		p.send(`{"type":"attach","id":"b","stream":"%s","after":%d}`, started.Stream, last)
		for f := p.next(); f.Type != "end"; f = p.next() {
			if f.Type != "parts" || f.Content != text {
				t.Errorf("%q: after event %d comes %+v", options, last, f)
			}
		}
	}
}

// listening is a model that notes which conversations it was given.
type listening struct {
	toy
	mu    *sync.Mutex
	heard *[]chat.Conversation
}

func (l listening) Render(ctx context.Context, c chat.Conversation) (chat.Prompt, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	*l.heard = append(*l.heard, c)
	return l.toy.Render(ctx, c)
}

// An answer that goes on with the last message is told without that message, whatever stream says:
// its frames grow as a stream does.
func TestSocket_Generate_StreamChangesNothing(t *testing.T) {
	var heard []chat.Conversation
	r := newRig(t, func(s *setup) { s.Engine = listening{mu: new(sync.Mutex), heard: &heard} })
	p := r.dial()
	for _, stream := range []string{``, `,"stream":false`, `,"stream":true`} {
		p.send(`{"type":"generate","id":"a","request":{%s,"max_tokens":1%s}}`, hello, stream)
		p.until("end")
	}
	if len(heard) == 0 {
		t.Fatal("nothing was rendered")
	}
	for i, c := range heard {
		if c.Echo {
			t.Errorf("conversation %d of %d is to be told with its last message", i, len(heard))
		}
	}
}
