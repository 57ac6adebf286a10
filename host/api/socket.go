// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/excerpt"
)

// maxSocketAnswers bounds the answers of one connection that have not ended.
const maxSocketAnswers = 256

// socket is one WebSocket connection. One goroutine reads frames, one writes them, and each answer has one that reads its stream and
// hands frames to the writer without a buffer. So a stream is read only as fast as the client reads: if the client is slow, the ring
// fills, the scheduler parks the slot, and memory stays bounded.
type socket struct {
	service *service
	conn    *websocket.Conn
	caller  caller

	out   chan any
	ctx   context.Context // done when the connection is
	close context.CancelFunc
	wrote atomic.Bool // a frame was sent since the last look

	forwarding sync.WaitGroup // of answers
	mu         sync.Mutex
	answers    map[string]*socketAnswer // those that have not ended, by the client's id
	closing    bool                     // no answer is begun any more
}

// openSocket is GET /v1/ws.
func (s *service) openSocket(c echo.Context) error {
	conn, err := websocket.Accept(c.Response(), c.Request(), &websocket.AcceptOptions{
		Subprotocols:       []string{Subprotocol},
		InsecureSkipVerify: true, // sameOrigin has checked
	})
	if err != nil {
		return nil // Accept has answered
	}
	defer conn.CloseNow() //nolint:errcheck // whatever is left of the connection
	conn.SetReadLimit(-1) // an oversized frame is refused, the connection lives on
	ctx, stop := context.WithCancel(c.Request().Context())
	k := &socket{service: s, conn: conn, caller: s.callerOf(c), out: make(chan any), ctx: ctx, close: stop, answers: map[string]*socketAnswer{}}
	var helpers sync.WaitGroup
	helpers.Go(k.write)
	helpers.Go(k.closeOnShutdown)
	helpers.Go(k.ping)
	err = k.read()
	stop()
	k.forwarding.Wait()
	helpers.Wait()
	s.Log.Debug("websocket closed", slog.Any("reason", err))
	return nil
}

// read handles frames until the connection ends.
func (k *socket) read() error {
	for {
		kind, r, err := k.conn.Reader(k.ctx)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(io.LimitReader(r, k.service.BodyLimit+1))
		if err != nil {
			return err
		}
		if int64(len(body)) > k.service.BodyLimit {
			if _, err := io.Copy(io.Discard, r); err != nil {
				return err
			}
			k.send(refusal("", &http.MaxBytesError{Limit: k.service.BodyLimit}))
			continue
		}
		if kind != websocket.MessageText {
			k.send(refusal("", malformed("frames must be text, with one JSON object each")))
			continue
		}
		k.handle(body)
	}
}

// write sends frames until the connection ends, or the client takes none for too long.
func (k *socket) write() {
	defer k.close()
	for {
		select {
		case f := <-k.out:
			if f == (closeFrame{}) {
				_ = k.conn.Close(websocket.StatusGoingAway, "the server is shutting down") // the client may have gone
				return
			}
			data, err := json.Marshal(f)
			if err != nil {
				k.service.Log.Error("a frame cannot be encoded", slog.Any("error", err))
				return
			}
			ctx, done := context.WithTimeout(k.ctx, k.service.writeTimeout())
			err = k.conn.Write(ctx, websocket.MessageText, data)
			done()
			if err != nil {
				return
			}
			k.wrote.Store(true)
		case <-k.ctx.Done():
			return
		}
	}
}

func (s *service) writeTimeout() time.Duration {
	if s.WriteTimeout <= 0 {
		return 24 * time.Hour
	}
	return s.WriteTimeout
}

// send hands a frame to the writer; false where the connection has ended.
func (k *socket) send(f any) bool {
	select {
	case k.out <- f:
		return true
	case <-k.ctx.Done():
		return false
	}
}

// handle acts on one frame. Whatever is wrong with it is told to the client, and ends nothing.
func (k *socket) handle(body []byte) {
	var f clientFrame
	if err := decode(body, &f); err != nil {
		k.send(refusal(f.ID, err))
		return
	}
	if err := k.dispatch(f); err != nil {
		k.send(refusal(f.ID, err))
	}
}

func (k *socket) dispatch(f clientFrame) error {
	if f.ID == "" || len(f.ID) > 128 {
		return Invalid("id", "id must be a text of 1 to 128 bytes")
	}
	switch f.Type {
	case "generate":
		return k.generate(f)
	case "attach":
		return k.attach(f)
	case "cancel", "pause", "resume", "set", "inject", "rewind":
		a := k.find(f.ID)
		if a == nil {
			return &Error{Status: http.StatusNotFound, Code: "unknown_id", Type: TypeInvalid, Param: "id",
				Message: fmt.Sprintf("no answer with id %q is going on", f.ID)}
		}
		return a.steer(f)
	case "fork":
		return unsupported("type", "fork is not supported by this server")
	}
	return Invalid("type", "type is %q; it must be generate, cancel, pause, resume, set, inject, rewind or attach", excerpt.Of(f.Type, 40))
}

func (k *socket) find(id string) *socketAnswer {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.answers[id]
}

// closeFrame is the last thing the writer is handed: it closes the connection after all frames.
type closeFrame struct{}

// closeOnShutdown ends the connection in order when the host shuts down: its answers' last frames first, then the closing
// handshake. A client that does not take them in time is cut off.
func (k *socket) closeOnShutdown() {
	select {
	case <-k.ctx.Done():
		return
	case <-k.service.Done:
	}
	k.mu.Lock()
	k.closing = true
	k.mu.Unlock()
	rest := make(chan struct{})
	go func() { k.forwarding.Wait(); close(rest) }()
	late := time.NewTimer(time.Second)
	defer late.Stop()
	select {
	case <-rest:
	case <-late.C:
		k.close()
	case <-k.ctx.Done():
	}
	<-rest
	select {
	case k.out <- closeFrame{}:
	case <-late.C:
		k.close()
	case <-k.ctx.Done():
	}
}
