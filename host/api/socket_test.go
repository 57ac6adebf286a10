// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/coder/websocket"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/must"
)

// peer is a WebSocket client.
type peer struct {
	t    *testing.T
	conn *websocket.Conn
}

// serverFrame is any frame of the host.
type serverFrame struct {
	Type, ID, As, Stream, Model, Text, Reason string
	Prompt                                    int `json:"prompt_tokens"`
	Cached                                    int `json:"cached_tokens"`
	Seed                                      uint32
	Seq                                       uint64
	Usage                                     wire.Usage
	Timings                                   wire.Timings
	Missed                                    uint64
	TokenID                                   *scheduler.Token `json:"token_id"`
	StopType                                  string           `json:"stop_type"`
	StoppingWord                              string           `json:"stopping_word"`
	Logprobs                                  *wire.TokenProb
	Trace                                     *wire.TokenTrace
	Frame                                     string
	Tokens                                    int
	Removed, Content, Reasoning, Receipt      string
	Reset                                     bool
	Calls                                     []wire.CallDelta
	Error                                     struct{ Code, Message, Param string }
	Warnings                                  []string
}

func (r *rig) dial(offers ...string) *peer {
	r.t.Helper()
	conn, _ := must.Both(websocket.Dial(context.Background(), r.url+"/v1/ws", &websocket.DialOptions{Subprotocols: offers}))(r.t)
	conn.SetReadLimit(1 << 20)
	r.t.Cleanup(func() { conn.CloseNow() }) //nolint:errcheck // most are closed by then
	return &peer{r.t, conn}
}

// dialAs opens a connection with a key.
func (r *rig) dialAs(key string) *peer {
	r.t.Helper()
	return r.dial(SubprotocolBearer + base64.RawURLEncoding.EncodeToString([]byte(key)))
}

func (p *peer) send(format string, args ...any) {
	p.t.Helper()
	must.Do(p.t, p.conn.Write(context.Background(), websocket.MessageText, fmt.Appendf(nil, format, args...)))
}

func (p *peer) next() serverFrame {
	p.t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	_, data := must.Both(p.conn.Read(ctx))(p.t)
	var f serverFrame
	must.Do(p.t, json.Unmarshal(data, &f))
	return f
}

// until reads to the next frame of a type.
func (p *peer) until(kind string) serverFrame {
	p.t.Helper()
	for {
		if f := p.next(); f.Type == kind {
			return f
		}
	}
}

// TestSocket_BadType_WholeCharacters: what a client sent is repeated up to a whole character.
func TestSocket_BadType_WholeCharacters(t *testing.T) {
	p := newRig(t, nil).dial()
	for i := range 4 {
		p.send(`{"type":"%s%s","id":"a"}`, strings.Repeat("x", i), strings.Repeat("🐸", 40))
		if f := p.until("error"); strings.Contains(f.Error.Message, `\x`) || strings.ContainsRune(f.Error.Message, utf8.RuneError) {
			t.Errorf("%d letters before: %s", i, f.Error.Message)
		}
	}
}

// TestSocket_Origins: a page of another origin cannot open the WebSocket, which browsers let any
// page try, unless it is allowed.
func TestSocket_Origins(t *testing.T) {
	r := newRig(t, func(s *setup) { s.Origins = []string{"https://friend.example"} })
	for origin, want := range map[string]int{
		"": 101, r.url: 101, "https://friend.example": 101,
		"https://foe.example": 403, "http://friend.example": 403, "https://friend.example.foe.example": 403, "null": 403, "http://127.0.0.1:1": 403,
	} {
		header := http.Header{}
		if origin != "" {
			header.Set("Origin", origin)
		}
		conn, answer, err := websocket.Dial(context.Background(), r.url+"/v1/ws", &websocket.DialOptions{HTTPHeader: header})
		if conn != nil {
			_ = conn.CloseNow() // that it opened is enough
		}
		if answer == nil || answer.StatusCode != want {
			t.Errorf("%q: %v, %v; want %d", origin, answer, err, want)
		}
	}
}

func TestSocket_Generate_FramesInOrder(t *testing.T) {
	r := newRig(t, nil)
	p := r.dial()
	p.send(`{"type":"generate","id":"a","request":{%s,"max_tokens":3,"logprobs":true,"seed":7}}`, hello)
	started := p.next()
	if started.Type != "started" || started.ID != "a" || len(started.Stream) < 20 || started.Model != "toy" || started.Seed != 7 || started.Prompt != 8 {
		t.Errorf("got %+v", started)
	}
	for i := range 3 {
		f := p.next()
		if f.Type != "token" || f.ID != "a" || f.Seq != uint64(i+1) || f.Text == "" || f.Logprobs == nil || f.TokenID == nil || *f.TokenID != f.Logprobs.ID {
			t.Errorf("got %+v", f)
		}
	}
	end := p.until("end")
	if end.ID != "a" || end.Reason != "length" || end.Usage.Completion != 3 || end.Timings.PredictedN != 3 {
		t.Errorf("got %+v", end)
	}
	p.send(`{"type":"generate","id":"a","request":{"prompt":"x","max_tokens":1}}`)
	if f := p.next(); f.Type != "started" || f.Prompt != 1 {
		t.Errorf("the id was not free again: %+v", f)
	}
}

// The end tells a token, a stop string and a length apart. Text that was held back until then is of
// no token.
func TestSocket_End_TellsWhatEndedIt(t *testing.T) {
	p := newRig(t, func(s *setup) { s.end = 12 }).dial()
	ask := func(more string) (text string, end serverFrame) {
		p.send(`{"type":"generate","id":"a","request":{"prompt":"x"%s}}`, more)
		for end = p.next(); end.Type != "end"; end = p.next() {
			if end.Type == "token" && end.TokenID != nil {
				text += end.Text
			}
		}
		return text, end
	}
	text, end := ask("")
	if end.Reason != "stop" || end.StopType != "eos" || end.TokenID == nil || *end.TokenID != schedulertest.EndToken || len(text) < 5 {
		t.Errorf("at a token, after %q: %+v", text, end)
	}
	if short, end := ask(`,"max_tokens":2`); end.Reason != "length" || end.StopType != "limit" || end.TokenID != nil || !strings.HasPrefix(text, short) {
		t.Errorf("at a length, after %q of %q: %+v", short, text, end)
	}
	word := text[2:4]
	if before, end := ask(fmt.Sprintf(`,"stop":[%q]`, word)); end.Reason != "stop" || end.StopType != "word" || end.StoppingWord != word || end.TokenID != nil || strings.Contains(before, word) {
		t.Errorf("at the text %q, after %q: %+v", word, before, end)
	}
	if rest, _ := ask(fmt.Sprintf(`,"stop":[%q]`, text[len(text)-1:]+"~")); rest+text[len(text)-1:] != text {
		t.Errorf("the tokens have %q of %q, the end of which was held back", rest, text)
	}
}

func TestSocket_ManyStreams_Interleave(t *testing.T) {
	r := newRig(t, nil)
	p := r.dial()
	for i := range 8 {
		p.send(`{"type":"generate","id":"%d","request":{"prompt":"%d","max_tokens":50}}`, i, i)
	}
	seq, ends := map[string]uint64{}, 0
	for ends < 8 {
		switch f := p.next(); f.Type {
		case "token":
			if f.Seq != seq[f.ID]+1 {
				t.Fatalf("stream %s: seq %d after %d", f.ID, f.Seq, seq[f.ID])
			}
			seq[f.ID] = f.Seq
		case "end":
			ends++
		case "error":
			t.Fatalf("got %+v", f)
		}
	}
	for i := range 8 {
		if n := seq[fmt.Sprint(i)]; n < 50 {
			t.Errorf("stream %d had %d tokens", i, n)
		}
	}
}

func TestSocket_BadFrames_ConnectionLivesOn(t *testing.T) {
	r := newRig(t, func(s *setup) { s.BodyLimit = 4096 })
	p := r.dial()
	for _, tc := range []struct{ frame, id, code, param string }{
		{`nonsense`, "", "invalid_json", ""},
		{`[]`, "", "invalid_json", ""},
		{`null`, "", "invalid_json", ""},
		{`{"type":7}`, "", "invalid_type", "type"},
		{`{"id":"a"}`, "a", "invalid_value", "type"},
		{`{"type":"generate"}`, "", "invalid_value", "id"},
		{`{"type":"dance","id":"a"}`, "a", "invalid_value", "type"},
		{`{"type":"generate","id":"a"}`, "a", "invalid_value", "request"},
		{`{"type":"generate","id":"a","request":7}`, "a", "invalid_json", ""},
		{`{"type":"generate","id":"a","request":{"messages":[]}}`, "a", "invalid_value", "messages"},
		{`{"type":"generate","id":"a","request":{"prompt":"x","messages":[]}}`, "a", "invalid_value", "request"},
		{`{"type":"generate","id":"a","request":{"prompt":"x","n":2}}`, "a", "invalid_value", "n"},
		{`{"type":"generate","id":"a","request":{"prompt":["x","y"]}}`, "a", "invalid_value", "n"},
		{`{"type":"generate","id":"a","request":{"prompt":"x","temperature":"x"}}`, "a", "invalid_type", "temperature"},
		{`{"type":"generate","id":"a","request":{"prompt":"` + strings.Repeat("x", contextSize) + `"}}`, "a", "context_length_exceeded", "prompt"},
		{`{"type":"generate","id":"a","detach_ms":-1,"request":{"prompt":"x"}}`, "a", "invalid_value", "detach_ms"},
		{`{"type":"cancel","id":"a"}`, "a", "unknown_id", "id"},
		{`{"type":"pause","id":"a"}`, "a", "unknown_id", "id"},
		{`{"type":"fork","id":"a","as":"b"}`, "a", "unknown_id", "id"},
		{`{"type":"generate","id":"a","overflow":"burst","request":{"prompt":"x"}}`, "a", "invalid_value", "overflow"},
		{`{"type":"generate","id":"a","overflow":"drop","detach_ms":5,"request":{"prompt":"x"}}`, "a", "invalid_value", "overflow"},
		{`{"type":"attach","id":"a","stream":"guess","after":0}`, "a", "unknown_stream", "stream"},
		{`{"type":"attach","id":"a","stream":"guess"}`, "a", "invalid_value", "after"},
		{`{"type":"cancel","id":"` + strings.Repeat("a", 200) + `"}`, strings.Repeat("a", 200), "invalid_value", "id"},
		{`{"type":"cancel","id":"` + strings.Repeat("a", 5000) + `"}`, "", "body_too_large", ""},
	} {
		p.send("%s", tc.frame)
		if f := p.next(); f.Type != "error" || f.ID != tc.id || f.Error.Code != tc.code || f.Error.Param != tc.param || f.Error.Message == "" {
			t.Errorf("%.80s: got %+v", tc.frame, f)
		} else if want := typeOf(tc.frame); f.Frame != want {
			t.Errorf("%.80s: the error says it refuses a frame of type %q, want %q", tc.frame, f.Frame, want)
		}
	}
	must.Do(t, p.conn.Write(context.Background(), websocket.MessageBinary, []byte(`{}`)))
	if f := p.next(); f.Type != "error" {
		t.Errorf("a binary frame: %+v", f)
	}
	p.send(`{"type":"generate","id":"a","request":{"prompt":"x","max_tokens":1}}`)
	p.until("end")
}

// typeOf is the type that the host can read of a frame: none of what is too large, no JSON, or no
// text.
func typeOf(frame string) string {
	var f struct{ Type string }
	if len(frame) > 4096 || json.Unmarshal([]byte(frame), &f) != nil {
		return ""
	}
	return f.Type
}

func TestSocket_QueueFull(t *testing.T) {
	g := newGate()
	r := newRig(t, g.on)
	defer g.open()
	p := r.dial()
	p.send(`{"type":"generate","id":"a","request":{"prompt":"x","max_tokens":1}}`)
	<-g.held
	await(t, r.inner.submitted)
	p.send(`{"type":"generate","id":"b","request":{"prompt":"x"}}`)
	await(t, r.inner.submitted)
	p.send(`{"type":"generate","id":"c","request":{"prompt":"x"}}`)
	if f := p.until("error"); f.ID != "c" || f.Error.Code != "queue_full" {
		t.Errorf("got %+v", f)
	}
}

func TestSocket_Cancel_EndsOnce(t *testing.T) {
	g := newGate()
	r := newRig(t, g.on)
	p := r.dial()
	p.hold(r, g, "a", "")
	p.send(`{"type":"cancel","id":"a"}`)
	if f := p.until("end"); f.Reason != "cancelled" {
		t.Errorf("got %+v", f)
	}
	p.send(`{"type":"cancel","id":"a"}`)
	if f := p.next(); f.Type != "error" || f.Error.Code != "unknown_id" {
		t.Errorf("got %+v", f)
	}
}

func TestSocket_Disconnect_CancelsAll(t *testing.T) {
	for _, polite := range []bool{true, false} {
		g := newGate()
		r := newRig(t, func(s *setup) { g.on(s); s.queue = 4 })
		p := r.dial()
		for i := range 3 {
			p.send(`{"type":"generate","id":"%d","request":{"prompt":"x"}}`, i)
		}
		<-g.held
		for range 3 {
			await(t, r.inner.submitted)
		}
		if polite {
			go p.conn.Close(websocket.StatusNormalClosure, "") //nolint:errcheck // the answer does not matter
		} else {
			p.conn.CloseNow() //nolint:errcheck // that is the point
		}
		for range 3 {
			await(t, r.inner.cancelled)
		}
		g.open()
		for range 3 {
			if got := r.outcome(); got.Reason != answer.ReasonCancelled {
				t.Errorf("ended by %v", got.Reason)
			}
		}
	}
}

// A reader that stops reading parks its streams; another connection's go on to their ends, and
// nothing is lost.
func TestSocket_SlowReader_ParksAlone(t *testing.T) {
	r := newRig(t, func(s *setup) { s.slots = 3 })
	slow, quick := r.dialTight(), r.dial()
	for i := range 2 {
		slow.send(`{"type":"generate","id":"%d","request":{"prompt":"%d","max_tokens":1500}}`, i, i)
	}
	r.awaitParked(quick, 2)
	seq, ends := map[string]uint64{}, 0
	for ends < 2 {
		f := slow.next()
		if f.Type == "end" {
			ends++
		} else if f.Type == "token" && f.Seq != seq[f.ID]+1 {
			t.Fatalf("seq %d after %d", f.Seq, seq[f.ID])
		}
		seq[f.ID] = f.Seq
	}
}

// awaitParked has a client ask for answers until n slots are parked.
func (r *rig) awaitParked(p *peer, n int) {
	r.t.Helper()
	for parked := 0; parked < n; {
		p.send(`{"type":"generate","id":"q","request":{"prompt":"x","max_tokens":300}}`)
		if f := p.until("end"); f.Reason != "length" {
			r.t.Fatalf("got %+v", f)
		}
		snap := must.Get(r.scheduler.Inspect(context.Background(), 0))(r.t)
		parked = 0
		for _, slot := range snap.Slots {
			if slot.State == "parked" {
				parked++
			}
		}
	}
}

// dialTight makes a connection whose system buffers hold little.
func (r *rig) dialTight() *peer {
	r.t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return c, c.(*net.TCPConn).SetReadBuffer(4 << 10)
	}}
	conn, _ := must.Both(websocket.Dial(context.Background(), r.url+"/v1/ws", &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}}))(r.t)
	r.t.Cleanup(func() { conn.CloseNow() }) //nolint:errcheck // whatever is left of it
	return &peer{r.t, conn}
}

func TestSocket_FailedAnswer_EndsWithError(t *testing.T) {
	r := newRig(t, func(s *setup) {
		s.fail = func(*scheduler.Batch) error { return fmt.Errorf("the device is lost") }
	})
	p := r.dial()
	p.send(`{"type":"generate","id":"a","request":{"prompt":"x"}}`)
	if f := p.until("end"); f.Reason != "error" || !strings.Contains(f.Error.Message, "the device is lost") {
		t.Errorf("got %+v", f)
	}
}

func TestSocket_Shutdown_SaysGoodbye(t *testing.T) {
	done := make(chan struct{})
	r := newRig(t, func(s *setup) { s.Done = done })
	p := r.dial()
	p.send(`{"type":"generate","id":"a","request":{"prompt":"x","max_tokens":3}}`)
	p.until("end")
	close(done)
	_, _, err := p.conn.Read(context.Background())
	if websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("got %v", err)
	}
}
