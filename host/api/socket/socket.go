// SPDX-License-Identifier: MIT

package socket

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
)

// API answers the WebSocket's route.
type API struct {
	*wire.Server
	Log          *slog.Logger
	BodyLimit    int64         // bytes of a frame
	BodyTimeout  time.Duration // how long the client may take for a small frame; 0: any time
	WriteTimeout time.Duration // how long the client may take no frame; 0: forever
	IdlePing     time.Duration // after so long without a frame the client is asked whether it is there; 0: 30 s
	Replica      string        // names this server among others that serve the same; empty: it is the only one
	// Draining is closed when no new answers are taken any more: a connection closes then as soon
	// as all of its answers are sent. Done is closed when every answer has ended and is sent, or
	// time is up: connections close then. Either may be nil.
	Draining, Done <-chan struct{}
	Hold           func() (release func()) // has the host go on until release is called, or its time is up
	// Identify notes whom a key belongs to, or refuses it. The empty key is the one that the
	// request came with.
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

// The bounds of one connection.
const (
	maxAnswers = 256            // that have not ended
	maxBeside  = 4 * maxAnswers // goroutines beside the reader: each answer has one, and one more while frames for it wait
)

// connection is one WebSocket connection. One goroutine reads frames, one writes them, and each
// answer has one that prepares it, reads its stream and hands frames to the writer without a
// buffer. So a stream is read only as fast as the client reads: if the client is slow, the ring
// fills, the scheduler parks the slot, and memory stays bounded. The reader waits for nothing that
// takes long: frames for an answer are acted on in its lane.
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

	claim   *wire.Claim   // what the frames that are read, or not yet acted on, have of the memory
	refused atomic.Int32  // frames in a row
	room    chan struct{} // has an element for each goroutine beside the reader

	unconfirmed chan struct{} // has room for one: the client is to be asked whether it has its answers

	unwatch context.CancelFunc // ends the watch, for the reader; nil: there is none
	watcher sync.WaitGroup     // one at most

	lanes      sync.WaitGroup // that frames wait in
	forwarding sync.WaitGroup // of answers, from the moment that they are asked for
	served     atomic.Bool    // an answer was forwarded
	mu         sync.Mutex
	answers    map[string]*answer // those that have not ended, by the client's id
	files      files
	going      int           // answers that are being prepared or forwarded
	freed      chan struct{} // has room for one: an answer is forwarded no more
	closing    bool          // no answer is begun any more
}

// open is GET /v1/ws.
func (a *API) open(c echo.Context) error {
	hand := &handshake{Response: c.Response()}
	conn, err := websocket.Accept(hand, c.Request(), &websocket.AcceptOptions{
		Subprotocols:       []string{Subprotocol},
		InsecureSkipVerify: true, // sameOrigin has checked
	})
	if err != nil {
		return hand.refusal(err)
	}
	defer conn.CloseNow() //nolint:errcheck // whatever is left of the connection
	conn.SetReadLimit(-1) // an oversized frame is refused, the connection lives on
	ctx, stop := context.WithCancel(c.Request().Context())
	k := newConnection(ctx, a)
	k.conn, k.caller, k.allow, k.late, k.close = conn, wire.CallerOf(c), func() error { return a.Identify(c, "") }, a.isDraining(), stop
	k.claim = a.Memory.Claim(func() string { return k.caller.ID })
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
	k.lanes.Wait()
	k.watcher.Wait()
	helpers.Wait()
	k.forget()
	if isDeliberate(err) {
		settle(a.detachables.toldOver(k))
	}
	a.Log.Debug("websocket closed", slog.Any("reason", err))
	return nil
}

func newConnection(ctx context.Context, a *API) *connection {
	return &connection{api: a, ctx: ctx, out: make(chan any), live: make(chan liveFrame), unconfirmed: make(chan struct{}, 1),
		room: make(chan struct{}, maxBeside), answers: map[string]*answer{}, freed: make(chan struct{}, 1)}
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

// next is the frame to send now: a live one only where there is no other. It is false when the
// connection ends.
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

// send hands a frame to the writer; false where ctx is done before the writer takes it. ctx is the
// connection's, or ends with it.
func (k *connection) send(ctx context.Context, f any) bool {
	select {
	case k.out <- f:
		return true
	case <-ctx.Done():
		return false
	}
}
