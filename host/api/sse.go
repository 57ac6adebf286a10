// SPDX-License-Identifier: MIT

package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// The times after which a waiting stream says that it is alive. An answer that is refused within the first is an ordinary
// error with its status; what is refused later is an event of a stream that has begun.
const (
	defaultGrace     = time.Second
	defaultKeepAlive = 10 * time.Second
)

// events writes server-sent events. They gather until flush, so that what is ready together leaves together. The headers
// go with the first flush, or when nothing has come for the time of grace; from then on a comment goes out whenever
// nothing else did for a while, because proxies and clients give up on a connection that is silent.
type events struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration // how long the client may take nothing; 0: for ever
	every   time.Duration // between comments
	lost    func()        // called when a comment cannot be written
	buffer  bytes.Buffer
	encoder *json.Encoder

	mu    sync.Mutex // guards w, begun and over
	timer *time.Timer
	begun bool
	over  bool // no comment is written any more
}

// newEvents makes the events of an answer. ctx is done when the client has gone.
func (s *service) newEvents(ctx context.Context, w http.ResponseWriter) (*events, context.Context) {
	ctx, lost := context.WithCancel(ctx)
	e := &events{w: w, control: http.NewResponseController(w), timeout: s.WriteTimeout, every: orDefault(s.StreamComment, defaultKeepAlive), lost: lost}
	e.encoder = json.NewEncoder(&e.buffer)
	e.encoder.SetEscapeHTML(false)
	e.mu.Lock() // the timer may be quick
	defer e.mu.Unlock()
	e.timer = time.AfterFunc(orDefault(s.StreamGrace, defaultGrace), e.keepAlive)
	return e, ctx
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}

// maxPending is how much may gather before it is written anyway.
const maxPending = 64 << 10

// send adds one event; nil is none.
func (e *events) send(v any) error {
	if v == nil {
		return nil
	}
	e.buffer.WriteString("data: ")
	if err := e.encoder.Encode(v); err != nil { // ends with one line break
		return fmt.Errorf("encode an event: %w", err)
	}
	e.buffer.WriteByte('\n')
	if e.buffer.Len() > maxPending {
		return e.flush()
	}
	return nil
}

func (e *events) done() { e.buffer.WriteString("data: [DONE]\n\n") }

// flush writes what has gathered.
func (e *events) flush() error {
	if e.buffer.Len() == 0 {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	err := e.write(e.buffer.Bytes())
	e.buffer.Reset()
	return err
}

// keepAlive tells a client that waits that its answer is still to come.
func (e *events) keepAlive() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		return
	}
	if err := e.write([]byte(": waiting\n\n")); err != nil {
		e.lost()
	}
}

// write begins the answer where that was not done, sends text, and sets the time to the next comment. Its caller has the lock.
func (e *events) write(text []byte) error {
	if !e.begun {
		e.begun = true
		h := e.w.Header()
		h.Set("Content-Type", "text/event-stream; charset=utf-8")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Accel-Buffering", "no") // nginx would hold events back
		e.w.WriteHeader(http.StatusOK)
	}
	if e.timeout > 0 {
		_ = e.control.SetWriteDeadline(time.Now().Add(e.timeout)) // test recorders have none
	}
	e.timer.Reset(e.every)
	if _, err := e.w.Write(text); err != nil {
		return fmt.Errorf("write events: %w", err)
	}
	return e.control.Flush()
}

// end stops the comments and tells whether the answer has begun: then an error can only be an event.
func (e *events) end() (begun bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = true
	e.timer.Stop()
	return e.begun
}

// release lifts the deadline, which would outlive this answer on a connection that is used again.
func (e *events) release() {
	e.end()
	e.lost()
	if e.timeout > 0 {
		_ = e.control.SetWriteDeadline(time.Time{}) // fails only where setting it failed
	}
}
