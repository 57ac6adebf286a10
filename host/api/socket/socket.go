// SPDX-License-Identifier: MIT

// Package socket serves the WebSocket: many answers over one connection, which their client can steer.
package socket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/excerpt"
)

// API answers the WebSocket's route.
type API struct {
	*wire.Server
	Log          *slog.Logger
	BodyLimit    int64         // bytes of a frame
	WriteTimeout time.Duration // how long the client may take no frame; 0: for ever
	IdlePing     time.Duration // after so long without a frame the client is asked whether it is there; 0: 30 s
	Replica      string        // names this server among others that serve the same; empty: it is the only one
	// Draining is closed when no new answers are taken any more: a connection closes then as soon as all of its answers are sent. Done is
	// closed when every answer has ended and is sent, or time is up: connections close then. Either may be nil.
	Draining, Done <-chan struct{}
	Hold           func() (release func()) // has the host go on until release is called, or its time is up
	// Identify notes whom a key belongs to, or refuses it. The empty key is the one that the request came with.
	Identify func(c echo.Context, key string) error

	detachables detachables
	lookout     lookout
}

// Routes are the routes of the API.
func (a *API) Routes() []wire.Route {
	return []wire.Route{{Method: http.MethodGet, Path: "/v1/ws", Handler: a.open, OwnKey: true}}
}

// Subprotocol is the WebSocket protocol that is spoken.
const Subprotocol = "penstock.v1"

// maxID is the most bytes of a client's name for an answer.
const maxID = 128

// maxAnswers bounds the answers of one connection that have not ended.
const maxAnswers = 256

// connection is one WebSocket connection. One goroutine reads frames, one writes them, and each answer has one that reads its stream and
// hands frames to the writer without a buffer. So a stream is read only as fast as the client reads: if the client is slow, the ring
// fills, the scheduler parks the slot, and memory stays bounded.
type connection struct {
	api    *API
	conn   *websocket.Conn
	caller completion.Caller
	allow  func() error // refuses a client whose key the server does not know any more

	out   chan any
	live  chan liveFrame  // taken when no other frame is there to be sent
	ctx   context.Context // done when the connection is
	close context.CancelFunc
	wrote atomic.Bool // a frame was sent since the last look
	late  bool        // it was opened when the server was draining

	refused int // frames in a row, for the reader

	unconfirmed chan struct{} // has room for one: the client is to be asked whether it has its answers

	unwatch context.CancelFunc // ends the watch, for the reader; nil: there is none
	watcher sync.WaitGroup     // one at most

	forwarding sync.WaitGroup // of answers
	mu         sync.Mutex
	answers    map[string]*answer // those that have not ended, by the client's id
	going      int                // answers that are being forwarded
	freed      chan struct{}      // has room for one: an answer is forwarded no more
	closing    bool               // no answer is begun any more
}

// open is GET /v1/ws.
func (a *API) open(c echo.Context) error {
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
	k := &connection{api: a, conn: conn, caller: wire.CallerOf(c), allow: func() error { return a.Identify(c, "") }, late: a.isDraining(),
		out: make(chan any), live: make(chan liveFrame), freed: make(chan struct{}, 1), unconfirmed: make(chan struct{}, 1), ctx: ctx, close: stop, answers: map[string]*answer{}}
	if !k.late { // else what it attaches to holds the host
		defer a.Hold()()
	}
	var helpers sync.WaitGroup
	helpers.Go(k.write)
	helpers.Go(k.closeOnShutdown)
	helpers.Go(k.ping)
	helpers.Go(k.confirmEnds)
	if err = k.authenticate(c); err == nil {
		err = k.read()
	}
	stop()
	k.forwarding.Wait()
	k.watcher.Wait()
	helpers.Wait()
	if isDeliberate(err) {
		settle(a.detachables.toldOver(k))
	}
	a.Log.Debug("websocket closed", slog.Any("reason", err))
	return nil
}

// read handles frames until the connection ends.
func (k *connection) read() error {
	for {
		kind, r, err := k.conn.Reader(k.ctx)
		if err != nil {
			return err
		}
		if err := k.readFrame(kind, r); err != nil {
			return err
		}
	}
}

// readFrame reads one frame and acts on it. Its error is that of the connection; one that is too large is read to its end and refused.
func (k *connection) readFrame(kind websocket.MessageType, r io.Reader) error {
	counted := k.api.Memory.Body(r)
	defer counted.Release()
	body, err := io.ReadAll(io.LimitReader(counted, k.api.BodyLimit+1))
	var refused *completion.Error
	switch {
	case errors.As(err, &refused):
		err = refused
	case err != nil:
		return err
	case int64(len(body)) > k.api.BodyLimit:
		err = &http.MaxBytesError{Limit: k.api.BodyLimit}
	case kind != websocket.MessageText:
		err = wire.Malformed("frames must be text, with one JSON object each")
	default:
		if err = counted.Decode(body); err == nil {
			k.handle(body)
			return nil
		}
	}
	if _, err := io.Copy(io.Discard, r); err != nil {
		return err
	}
	k.refuse(clientFrame{}, err)
	return nil
}

// A client may have so many frames refused in a row without a delay; then each is answered late, so that one that sends nothing but
// such frames takes no processor time from others.
const (
	freeRefusals = 64
	refusalDelay = 5 * time.Millisecond
)

// refuse tells the client what is wrong with a frame.
func (k *connection) refuse(f clientFrame, err error) {
	if k.refused++; k.refused > freeRefusals {
		select {
		case <-time.After(refusalDelay):
		case <-k.ctx.Done():
		}
	}
	refused := refusal(f.ID, err)
	refused.Frame = excerpt.Of(f.Type, 40)
	if f.Type == "fork" {
		refused.As = f.As
	}
	k.send(k.ctx, refused)
}

// write sends frames until the connection ends, or the client takes none for too long.
func (k *connection) write() {
	defer k.close()
	for {
		f, ok := k.next()
		if !ok || !k.writeFrame(f) {
			return
		}
	}
}

// next is the frame to send now: a live one only where there is no other. It is false when the connection ends.
func (k *connection) next() (f any, ok bool) {
	select {
	case f = <-k.out:
		return f, true
	default:
	}
	select {
	case f = <-k.out:
	case f = <-k.live:
	case <-k.ctx.Done():
		return nil, false
	}
	return f, true
}

// writeFrame sends one frame; false where it was the last.
func (k *connection) writeFrame(f any) bool {
	if last, ok := f.(closeFrame); ok {
		_ = k.conn.Close(last.status, last.reason) // the client may have gone
		return false
	}
	if _, ok := f.(flushFrame); ok {
		return true
	}
	data, err := json.Marshal(f)
	if err != nil {
		k.api.Log.Error("a frame cannot be encoded", slog.Any("error", err))
		return false
	}
	ctx, done := context.WithTimeout(k.ctx, k.api.writeTimeout())
	defer done()
	if k.conn.Write(ctx, websocket.MessageText, data) != nil {
		return false
	}
	k.wrote.Store(true)
	return true
}

func (a *API) writeTimeout() time.Duration {
	if a.WriteTimeout <= 0 {
		return 24 * time.Hour
	}
	return a.WriteTimeout
}

// send hands a frame to the writer; false where ctx is done before the writer takes it. ctx is the connection's, or ends with it.
func (k *connection) send(ctx context.Context, f any) bool {
	select {
	case k.out <- f:
		return true
	case <-ctx.Done():
		return false
	}
}

// handle acts on one frame. Whatever is wrong with it is told to the client, and ends nothing.
func (k *connection) handle(body []byte) {
	var f clientFrame
	err := wire.Decode(body, &f)
	if err == nil {
		err = k.dispatch(f)
	}
	if err != nil {
		k.refuse(f, err)
		return
	}
	k.refused = 0
}

func (k *connection) dispatch(f clientFrame) error {
	if f.Type == "authenticate" { // a client need not know that the server asks for no key
		k.send(k.ctx, authenticated)
		return nil
	}
	if f.Type == "generate" || f.Type == "fork" || f.Type == "attach" || f.Type == "watch" { // what goes on already may go on
		if err := k.allow(); err != nil {
			return err
		}
	}
	if f.Type == "watch" {
		return k.watch(f)
	}
	if f.ID == "" || len(f.ID) > maxID {
		return completion.Invalid("id", "id must be a text of 1 to %d bytes", maxID)
	}
	switch f.Type {
	case "generate":
		return k.generate(f)
	case "attach":
		return k.attach(f)
	case "cancel", "pause", "resume", "set", "inject", "rewind", "fork":
		a := k.find(f.ID)
		if a == nil {
			return &completion.Error{Status: http.StatusNotFound, Code: "unknown_id", Type: completion.TypeInvalid, Param: "id",
				Message: fmt.Sprintf("no answer with id %q is going on", f.ID)}
		}
		if f.Type == "fork" {
			return k.fork(a, f)
		}
		return a.steer(f)
	}
	return completion.Invalid("type", "type is %q; it must be generate, cancel, pause, resume, set, inject, rewind, fork, attach or watch", excerpt.Of(f.Type, 40))
}

func (k *connection) find(id string) *answer {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.answers[id]
}
