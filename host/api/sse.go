// SPDX-License-Identifier: MIT

package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// events writes server-sent events. They gather until flush, so that what is ready together leaves together. The
// headers go with the first flush: an error before it is still an ordinary answer.
type events struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration // how long the client may take nothing; 0: for ever
	buffer  bytes.Buffer
	encoder *json.Encoder
	begun   bool
}

func newEvents(w http.ResponseWriter, timeout time.Duration) *events {
	e := &events{w: w, control: http.NewResponseController(w), timeout: timeout}
	e.encoder = json.NewEncoder(&e.buffer)
	e.encoder.SetEscapeHTML(false)
	return e
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
	_, err := e.w.Write(e.buffer.Bytes())
	e.buffer.Reset()
	if err != nil {
		return fmt.Errorf("write events: %w", err)
	}
	return e.control.Flush()
}

// release lifts the deadline, which would outlive this answer on a connection that is used again.
func (e *events) release() {
	if e.timeout > 0 {
		_ = e.control.SetWriteDeadline(time.Time{}) // fails only where setting it failed
	}
}
