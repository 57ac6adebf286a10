// SPDX-License-Identifier: MIT

package api

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/must"
)

// gate holds the first forward pass until it is opened.
type gate struct {
	held  chan struct{} // closed when the pass waits
	pass  chan struct{}
	enter sync.Once
	leave sync.Once
}

func newGate() *gate { return &gate{held: make(chan struct{}), pass: make(chan struct{})} }

func (g *gate) on(s *setup) {
	s.slots, s.queue = 1, 1
	s.fail = func(*scheduler.Batch) error {
		g.enter.Do(func() { close(g.held) })
		<-g.pass
		return nil
	}
}

// pause has a peer pause its answer, whose first pass waits.
func (g *gate) pause(p *peer, r *rig, id string) {
	p.t.Helper()
	p.send(`{"type":"pause","id":"%s"}`, id)
	g.untilPaused(p, r)
}

// untilPaused has passes come one by one until an answer is paused, so that it does not end before.
func (g *gate) untilPaused(p *peer, r *rig) {
	p.t.Helper()
	await(p.t, r.inner.pausing)
	for range 20 {
		select {
		case g.pass <- struct{}{}:
		case <-time.After(time.Second):
		}
		select {
		case <-r.inner.paused:
			g.open()
			return
		case <-time.After(time.Second):
		}
	}
	p.t.Fatal("the answer was not paused")
}

func (g *gate) open() { g.leave.Do(func() { close(g.pass) }) }

func (r *rig) request() scheduler.Request {
	return scheduler.Request{Service: scheduler.Service{Caller: "address 127.0.0.1"}, Prompt: []scheduler.Segment{{Tokens: []scheduler.Token{1, 2, 3}}}, Ending: scheduler.Ending{MaxTokens: 2}, Reports: scheduler.Reports{Logprobs: -1},
		Chain: []chain.Stage{schedulertest.Greedy{}}}
}

func newRigLog(t *testing.T) *slog.Logger { return slog.New(slog.NewTextHandler(t.Output(), nil)) }

func newRecorder(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

func TestAPI_QueueFull_429(t *testing.T) {
	g := newGate()
	r := newRig(t, g.on)
	defer g.open()
	for range 2 { // one in the slot, one in the queue
		must.Get(r.scheduler.Submit(r.request()))(t)
		<-g.held
	}
	for _, path := range []string{"/v1/chat/completions", "/v1/completions"} {
		status, header, body := r.call(http.MethodPost, path, `{`+hello+`,"prompt":"a","stream":true}`)
		if status != http.StatusTooManyRequests || header.Get("Retry-After") == "" || !strings.Contains(body, `"queue_full"`) {
			t.Errorf("%s: %d %v %s", path, status, header, body)
		}
	}
}

// What others wait for is no fault of a client, which is told so by a 503.
func TestAPI_QueueFull_ByOthers_503(t *testing.T) {
	g := newGate()
	r := newRig(t, g.on)
	defer g.open()
	for range 2 {
		other := r.request()
		other.Caller = "address 127.0.0.2"
		must.Get(r.scheduler.Submit(other))(t)
		<-g.held
	}
	if status, header, body := r.call(http.MethodPost, "/v1/completions", `{"prompt":"a"}`); status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" || !strings.Contains(body, `"queue_full"`) {
		t.Errorf("%d %v %s", status, header, body)
	}
}

// All choices are admitted or none; where there could never be room for them, a client is not told
// to try again.
func TestAPI_Choices_AreAdmittedTogether(t *testing.T) {
	g := newGate()
	r := newRig(t, g.on) // one slot, one in the queue
	defer g.open()
	must.Get(r.scheduler.Submit(r.request()))(t)
	<-g.held
	status, header, _ := r.call(http.MethodPost, "/v1/completions", `{"prompt":"a","n":2}`)
	if status != http.StatusTooManyRequests || header.Get("Retry-After") == "" {
		t.Errorf("two, while there is room for one: %d", status)
	}
	for body, field := range map[string]string{`{"prompt":"a","n":3}`: `"n"`, `{"prompt":["a","b","c"]}`: `"prompt"`} {
		status, _, text := r.call(http.MethodPost, "/v1/completions", body)
		if status != http.StatusBadRequest || !strings.Contains(text, `"param":`+field) {
			t.Errorf("%s, where there is room for two at most: %d %s", body, status, text)
		}
	}
	g.open()
	if reason := r.outcome().Reason; reason != answer.ReasonLength {
		t.Errorf("the first ended with %v", reason)
	}
	var text string
	for status = http.StatusTooManyRequests; status == http.StatusTooManyRequests; { // the end is told before the slot is free
		status, _, text = r.call(http.MethodPost, "/v1/completions", `{"prompt":"a","n":2,"max_tokens":2}`)
	}
	if status != http.StatusOK || strings.Count(text, `"finish_reason":"length"`) != 2 {
		t.Errorf("two, while there is room: %d %s", status, text)
	}
}

func TestAPI_Disconnect_Cancels(t *testing.T) {
	for name, body := range map[string]string{
		"stream": `{` + hello + `,"stream":true}`, "whole": `{` + hello + `}`, "choices": `{` + hello + `,"n":2}`,
		"stream of choices": `{` + hello + `,"n":2,"stream":true}`,
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate()
			r := newRig(t, func(s *setup) { g.on(s); s.queue = 4 })
			defer g.open()
			ctx, leave := context.WithCancel(context.Background())
			q := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/v1/chat/completions", strings.NewReader(body)))(t)
			done := make(chan error, 1)
			go func() {
				a, err := http.DefaultClient.Do(q)
				if err == nil {
					_, err = io.Copy(io.Discard, a.Body)
					err = errors.Join(err, a.Body.Close())
				}
				done <- err
			}()
			<-g.held // during prefill
			leave()
			<-done
			await(t, r.inner.cancelled)
			g.open()
			if got := r.outcome(); got.Reason != answer.ReasonCancelled {
				t.Errorf("ended by %v", got.Reason)
			}
		})
	}
}

func TestAPI_DisconnectWhileStreaming_Cancels(t *testing.T) {
	r := newRig(t, nil)
	a := must.Get(http.Post(r.url+"/v1/chat/completions", "application/json", strings.NewReader(`{`+hello+`,"stream":true,"logprobs":true,"top_logprobs":20}`)))(t)
	must.Get(bufio.NewReader(a.Body).ReadString('\n'))(t)
	a.Body.Close()
	if got := r.outcome(); got.Reason != answer.ReasonCancelled { // no buffer holds all of the answer
		t.Errorf("ended by %v", got.Reason)
	}
}

func TestAPI_FailedPass(t *testing.T) {
	r := newRig(t, func(s *setup) { s.fail = func(*scheduler.Batch) error { return errors.New("the device is lost") } })
	for _, stream := range []string{"true", "false"} { // nothing was sent yet: an ordinary error either way
		status, _, body := r.call(http.MethodPost, "/v1/chat/completions", `{`+hello+`,"stream":`+stream+`}`)
		if status != 500 || !strings.Contains(body, "the device is lost") || !strings.Contains(body, "server_error") {
			t.Errorf("stream %s: %d %s", stream, status, body)
		}
	}
}

// lostAfter is the answer of a host whose device is lost after some passes. If there are any, the
// headers are sent before that.
func lostAfter(t *testing.T, passes int, path, body string) (status int, text string) {
	t.Helper()
	done, seen := 0, make(chan struct{})
	r := newRig(t, func(s *setup) {
		s.fail = func(*scheduler.Batch) error {
			if done++; done <= passes {
				return nil
			}
			<-seen
			return errors.New("the device is lost")
		}
	})
	if passes == 0 {
		close(seen)
	}
	a := must.Get(http.Post(r.url+path, "application/json", strings.NewReader(body)))(t)
	defer a.Body.Close()
	if passes > 0 {
		close(seen) // the headers are here, so something of the answer was sent
	}
	all := must.Get(io.ReadAll(a.Body))(t)
	return a.StatusCode, string(all)
}

func TestAPI_FailedLater_IsAnEventThenDone(t *testing.T) {
	status, body := lostAfter(t, 3, "/v1/chat/completions", `{`+hello+`,"stream":true}`)
	events := frames(t, body)
	if n := len(events); status != 200 || n < 3 || events[n-1] != "[DONE]" || !strings.HasPrefix(events[n-2], `{"error":{`) {
		t.Errorf("%d %q", status, events)
	}
}

func TestAPI_Deadline_IsNotTriedAgain(t *testing.T) {
	g := newGate()
	r := newRig(t, g.on)
	defer g.open()
	must.Get(r.scheduler.Submit(r.request()))(t)
	<-g.held
	go func() {
		select {
		case <-r.inner.submitted:
			time.Sleep(5 * time.Millisecond) // until the deadline has passed
		case <-t.Context().Done(): // it had passed before
		}
		g.open()
	}()
	status, _, body := r.call(http.MethodPost, "/v1/chat/completions", `{`+hello+`,"timeout_ms":1}`)
	if status != http.StatusUnprocessableEntity || !strings.Contains(body, `"timeout_ms"`) {
		t.Errorf("%d %s", status, body)
	}
}

func TestAPI_Drained_503(t *testing.T) {
	r := newRig(t, nil)
	r.scheduler.Drain()
	status, header, body := r.call(http.MethodPost, "/v1/chat/completions", `{`+hello+`}`)
	if status != 503 || header.Get("Retry-After") == "" || !strings.Contains(body, "shutting_down") {
		t.Errorf("%d %v %s", status, header, body)
	}
}
