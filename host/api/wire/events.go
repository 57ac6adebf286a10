// SPDX-License-Identifier: MIT

package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// The times after which a stream without events sends a keep-alive comment. If a request is
// refused within the first, the client gets an ordinary error with its status. Later the stream
// has begun, and the error is an event of it.
const (
	defaultGrace     = time.Second
	defaultKeepAlive = 10 * time.Second
)

// events writes the frames of a stream, as server-sent events or as lines. They gather until
// flush, so that what is ready together is sent together. The headers are sent with the first
// flush, or after the time of grace. From then on a comment is sent whenever nothing else was for
// a while, because proxies and clients give up on a silent connection.
type events struct {
	w       http.ResponseWriter
	framing Framing
	control *http.ResponseController
	every   time.Duration // between comments
	cancel  func()        // called when a comment cannot be written
	buffer  bytes.Buffer
	encoder *json.Encoder

	mu    sync.Mutex // guards w, begun and ended
	timer *time.Timer
	begun bool
	ended bool // no comment is written any more
}

// newEvents makes the events of an answer. ctx is done when the client has gone.
func (s *Server) newEvents(ctx context.Context, w http.ResponseWriter, framing Framing) (*events, context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	e := &events{w: w, framing: framing, control: http.NewResponseController(w), every: orDefault(s.Comment, defaultKeepAlive), cancel: cancel}
	e.encoder = json.NewEncoder(&e.buffer)
	e.encoder.SetEscapeHTML(false)
	e.mu.Lock() // the timer may fire before it is stored
	defer e.mu.Unlock()
	e.timer = time.AfterFunc(orDefault(s.Grace, defaultGrace), e.keepAlive)
	return e, ctx
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}

// maxPending is how many bytes may gather before they are written anyway.
const maxPending = 64 << 10

// gather adds frames to what flush writes.
func (e *events) gather(frames ...any) error {
	for _, f := range frames {
		if e.framing != Lines {
			if named, ok := f.(interface{ EventName() string }); ok {
				e.buffer.WriteString("event: " + named.EventName() + "\n")
			}
			e.buffer.WriteString("data: ")
		}
		if err := e.encoder.Encode(f); err != nil { // ends with one line break
			return fmt.Errorf("encode a frame: %w", err)
		}
		if e.framing != Lines {
			e.buffer.WriteByte('\n')
		}
		if e.buffer.Len() > maxPending {
			if err := e.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// done adds the marker that ends a stream of OpenAI's.
func (e *events) done() {
	if e.framing == EventsDone {
		e.buffer.WriteString("data: [DONE]\n\n")
	}
}

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

// keepAlive writes a comment, which tells a waiting client that its answer is still to come.
func (e *events) keepAlive() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended {
		return
	}
	comment := ": waiting\n\n"
	if e.framing == Lines {
		comment = "" // lines know no comments: only the headers go out
	}
	if err := e.write([]byte(comment)); err != nil {
		e.cancel()
	}
}

// write sends text, with the headers if it is the first, and sets the time to the next comment.
// Its caller has the lock.
func (e *events) write(text []byte) error {
	if !e.begun {
		e.begun = true
		h := e.w.Header()
		h.Set("Content-Type", e.framing.contentType())
		h.Set("Cache-Control", "no-store")
		h.Set("X-Accel-Buffering", "no") // nginx would hold events back
		e.w.WriteHeader(http.StatusOK)
	}
	e.timer.Reset(e.every)
	if _, err := e.w.Write(text); err != nil {
		return fmt.Errorf("write events: %w", err)
	}
	return e.control.Flush()
}

// end stops the comments and reports whether the answer has begun. If so, an error can only be an
// event.
func (e *events) end() (begun bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = true
	e.timer.Stop()
	return e.begun
}

// release stops the comments, however the answer ends.
func (e *events) release() {
	e.end()
	e.cancel()
}

func (f Framing) contentType() string {
	if f == Lines {
		return "application/x-ndjson"
	}
	return "text/event-stream; charset=utf-8"
}
