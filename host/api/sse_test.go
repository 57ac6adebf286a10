// SPDX-License-Identifier: MIT

package api

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/tools/must"
)

// TestAPI_Stream_SaysThatItWaits: the headers and a comment come while the answer has not begun,
// more comments follow, and the events after them are those of any stream.
func TestAPI_Stream_SaysThatItWaits(t *testing.T) {
	g := newGate()
	r := newRig(t, func(s *setup) { g.on(s); s.StreamGrace, s.StreamComment = time.Millisecond, time.Millisecond })
	defer g.open()
	a, err := http.Post(r.url+"/v1/completions", "application/json", strings.NewReader(`{"prompt":"a","max_tokens":3,"stream":true}`))
	if err != nil {
		t.Fatal(err) // it would wait for ever: the gate is closed
	}
	defer a.Body.Close()
	if kind := a.Header.Get("Content-Type"); a.StatusCode != 200 || !strings.HasPrefix(kind, "text/event-stream") {
		t.Errorf("%d %s", a.StatusCode, kind)
	}
	lines := bufio.NewReader(a.Body)
	for i := range 3 {
		if line, err := lines.ReadString('\n'); err != nil || line != ": waiting\n" {
			t.Fatalf("line %d is %q, %v", i, line, err)
		}
		if line, err := lines.ReadString('\n'); err != nil || line != "\n" {
			t.Fatalf("after comment %d comes %q, %v", i, line, err)
		}
	}
	g.open()
	rest := must.Get(io.ReadAll(lines))(t)
	var events []string
	for event := range strings.SplitSeq(strings.TrimSuffix(string(rest), "\n\n"), "\n\n") {
		if event != ": waiting" {
			events = append(events, event)
		}
	}
	if got := frames(t, strings.Join(events, "\n\n")); len(got) != 5 || got[4] != "[DONE]" { // three tokens, the end
		t.Errorf("events %q", got)
	}
}

// TestAPI_Stream_RefusedInTheFirstMoment: until something was sent, a refusal keeps its status.
func TestAPI_Stream_RefusedInTheFirstMoment(t *testing.T) {
	fail := func(*scheduler.Batch) error { return errors.New("no pass") }
	for name, grace := range map[string]time.Duration{"before": time.Hour, "after": time.Nanosecond} {
		t.Run(name, func(t *testing.T) {
			held := make(chan struct{})
			r := newRig(t, func(s *setup) {
				s.StreamGrace = grace
				s.fail = func(b *scheduler.Batch) error { <-held; return fail(b) }
			})
			if name == "before" {
				close(held)
			}
			status, body := whenBegun(t, r.url+"/v1/completions", `{"prompt":"a","stream":true}`, func() {
				if name == "after" {
					close(held) // the headers are there
				}
			})
			late := strings.HasSuffix(body, "data: [DONE]\n\n")
			if want := map[string]int{"before": 500, "after": 200}[name]; status != want || late != (want == 200) || !strings.Contains(body, "no pass") {
				t.Errorf("%d %s", status, body)
			}
		})
	}
}

// Anthropic's message begins before its error, too: AI SDK repeats a request whose stream begins
// with one.
func TestAPI_Messages_BeginBeforeTheirError(t *testing.T) {
	held := make(chan struct{})
	r := newRig(t, func(s *setup) {
		s.StreamGrace = time.Nanosecond
		s.fail = func(*scheduler.Batch) error { <-held; return errors.New("no pass") }
	})
	status, body := whenBegun(t, r.url+"/v1/messages", `{"max_tokens":9,"stream":true,`+hello+`}`, func() { close(held) })
	start, failed := strings.Index(body, "event: message_start\n"), strings.Index(body, "event: error\n")
	if status != 200 || start < 0 || failed < start {
		t.Errorf("%d %s", status, body)
	}
}

// whenBegun is the status of an answer, and its text, of which the rest may come when its headers
// are there.
func whenBegun(t *testing.T, url, body string, begun func()) (status int, text string) {
	t.Helper()
	a := must.Get(http.Post(url, "application/json", strings.NewReader(body)))(t)
	defer a.Body.Close()
	begun()
	all := must.Get(io.ReadAll(a.Body))(t)
	return a.StatusCode, string(all)
}
