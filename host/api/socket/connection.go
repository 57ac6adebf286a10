// SPDX-License-Identifier: MIT

// Package socket serves the WebSocket: many answers over one connection, which their client can
// steer.
//
// # Why does a server that ends wait for clients who are not there?
//
// An answer with detach_ms may be complete while its client, whose connection broke, has half of
// it. Logs live in memory, so the server has to stay until the client has come back. Whether
// it has all of the answer only the client knows: bytes that were written may lie in a proxy. A
// ping that follows the end is answered by the client itself, so its pong shows it. A client that
// closes with status 1000 after the end does not need more either; 1001 is what a browser sends
// for a page that is reloaded, which may come back.
//
// # Why are WebSockets closed while the server drains, and not at its end?
//
// Their clients would stay with a server that refuses them. Each is closed when it has no answer,
// so it moves at once, and the last answers end the server.
//
// # Why do live frames carry so little of other clients?
//
// Every client may see how busy the server is, as with `/slots`. A text, or the name of a stream,
// would let one client read another's answer. So a connection is told the names of its own answers
// only.
//
// # Why may live frames be lost?
//
// They share a connection with tokens. A live frame that waited in front of a token would make a
// slow client slower, and one that was queued would be old when it arrives. So the writer takes
// one only if it has nothing else to send, and the watcher throws away what was not taken in
// time. The ticks in between are in the next frame, up to 500. All watchers share one look at the
// scheduler: it runs between two ticks and takes 0.09 ms with 16 slots, 131,072 cells and 500
// ticks (BenchmarkScheduler_Inspect), so the longest time between two tokens grows by no more,
// however many pages are open.
package socket

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/answerlog"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/refusal"
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

	shelf   answerlog.Shelf
	lookout lookout
}

// Routes are the routes of the API.
func (a *API) Routes() []wire.Route {
	a.shelf.Replica, a.shelf.Hold = a.Replica, a.Hold
	return []wire.Route{{Method: http.MethodGet, Path: route, Handler: a.open, OwnKey: true}}
}

const route = "/v1/ws"

// Subprotocol is the WebSocket protocol that is spoken.
const Subprotocol = "penstock.v1"

// maxID is the most bytes of a client's name for an answer.
const maxID = 128

// The bounds of one connection.
const (
	maxAnswers = 256            // that have not ended
	maxBeside  = 4 * maxAnswers // goroutines beside the reader, one for each answer that frames wait for
)

// connection is one WebSocket connection. One goroutine reads frames and one writes them. Answers
// are computed elsewhere: the writer reads their logs, only as fast as the client reads. The reader
// waits for nothing that takes long: frames for an answer are acted on in its lane.
type connection struct {
	api    *API
	conn   *websocket.Conn
	client client
	ctx    context.Context // done when the connection is
	close  context.CancelFunc

	out   chan any // frames that are in no log
	ready queue
	live  chan liveFrame // sent when there is nothing else
	wrote atomic.Bool    // a frame was sent since the last look

	incoming incoming
	watch    watch
	lanes    sync.WaitGroup // goroutines beside the reader
	asking   sync.Mutex     // held while the client is asked whether it has its answers
	unasked  chan struct{}  // has an element when it is to be asked

	roster
}

// client is who uses a connection.
type client struct {
	completion.Caller
	allow func() error // refuses a client whose key the server does not know any more
}

// incoming bounds what a client sends.
type incoming struct {
	claim   *wire.Claim   // what the frames that are read, or not yet acted on, have of the memory
	refused atomic.Int32  // frames in a row
	room    chan struct{} // has an element for each goroutine beside the reader
}

// roster has the answers of a connection, and the files for them.
type roster struct {
	mu      sync.Mutex
	byID    map[string]*answer // that have not ended
	files   files
	going   int              // are being prepared, or read
	less    chan struct{}    // has an element when going has become less
	served  bool             // one was begun
	closing bool             // none is begun any more
	told    []answerlog.Told // what the client could come back for, and was sent the end of
}

// queue has the answers whose logs may have something to read, each once. add never waits: it is
// called under the lock of a log, which another connection may read by then.
type queue struct {
	mu      sync.Mutex
	waiting []*answer
	some    chan struct{} // has an element while one waits
}

func (q *queue) add(a *answer) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !slices.Contains(q.waiting, a) {
		q.waiting = append(q.waiting, a)
		signal(q.some)
	}
}

// take is the first, after an element of some.
func (q *queue) take() *answer {
	q.mu.Lock()
	defer q.mu.Unlock()
	a := q.waiting[0]
	q.waiting = slices.Delete(q.waiting, 0, 1)
	if len(q.waiting) > 0 {
		signal(q.some)
	}
	return a
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
	k.conn, k.close = conn, stop
	k.client = client{wire.CallerOf(c), func() error { return a.Identify(c, "") }}
	k.incoming.claim = a.Memory.Claim(func() string { return k.client.ID })
	late := isClosed(a.Draining)
	if !late { // else what it attaches to holds the host
		defer a.Hold()()
	}
	var helpers sync.WaitGroup
	helpers.Go(k.write)
	helpers.Go(func() { k.closeOnShutdown(late) })
	helpers.Go(k.ping)
	if err = k.authenticate(c); err == nil {
		err = k.read()
	}
	stop()
	k.lanes.Wait()
	k.watch.running.Wait()
	helpers.Wait()
	for _, a := range k.byID {
		a.reader.Leave()
	}
	k.files.drop(0, len(k.files.kept))
	if isDeliberate(err) {
		k.settle(k.told)
	}
	a.Log.Debug("websocket closed", slog.Any("reason", err))
	return nil
}

func newConnection(ctx context.Context, a *API) *connection {
	return &connection{api: a, ctx: ctx, watch: watch{stop: func() {}}, out: make(chan any), ready: queue{some: make(chan struct{}, 1)}, live: make(chan liveFrame), unasked: make(chan struct{}, 1),
		incoming: incoming{room: make(chan struct{}, maxBeside)}, roster: roster{byID: map[string]*answer{}, less: make(chan struct{}, 1)}}
}

// handshake keeps back what websocket.Accept answers a request that it refuses, which would be
// plain text: such a request is refused like all others.
type handshake struct {
	*echo.Response
	status int // of the refusal; 0: there is none
}

// WriteHeader implements http.ResponseWriter.
func (h *handshake) WriteHeader(status int) {
	if status == http.StatusSwitchingProtocols {
		h.Response.WriteHeader(status)
		return
	}
	h.status = status
	h.Header().Del("Content-Type") // of the text
}

// Write implements http.ResponseWriter: only a refusal has a text.
func (*handshake) Write(text []byte) (int, error) { return len(text), nil }

func (h *handshake) refusal(err error) error {
	kind := refusal.KindInvalid
	switch h.status {
	case http.StatusUpgradeRequired:
		kind = refusal.KindNoUpgrade
	case http.StatusInternalServerError, http.StatusNotImplemented:
		kind = refusal.KindInternal
	}
	return &refusal.Error{Kind: kind, Code: "no_websocket", Message: err.Error()}
}

// A connection that came without a key has keyWait to send one, in a frame of at most maxKeyFrame
// bytes.
const (
	keyWait     = 5 * time.Second
	maxKeyFrame = 4 << 10
)

// authenticatedFrame answers a client that sends its key.
type authenticatedFrame struct {
	Type string `json:"type"`
}

var authenticated = authenticatedFrame{"authenticated"}

// authenticate waits for the key of a connection whose client is not known yet. Whatever else
// comes first ends the connection.
func (k *connection) authenticate(c echo.Context) error {
	if wire.HasCaller(c) {
		return nil
	}
	k.conn.SetReadLimit(maxKeyFrame)
	defer k.conn.SetReadLimit(-1)
	ctx, done := context.WithTimeout(k.ctx, keyWait)
	defer done()
	kind, body, err := k.conn.Read(ctx)
	if err != nil {
		return err
	}
	if err := k.checkKey(c, kind, body); err != nil {
		k.send(k.ctx, refusalFrame("", err))
		k.send(k.ctx, closeFrame{websocket.StatusPolicyViolation, "the first frame had no key of this server"})
		<-k.ctx.Done() // the writer has closed it
		return err
	}
	k.client.Caller = wire.CallerOf(c)
	k.send(k.ctx, authenticated)
	return nil
}

func (k *connection) checkKey(c echo.Context, kind websocket.MessageType, body []byte) error {
	var f struct{ Type, Key string }
	if kind == websocket.MessageText && wire.Decode(body, &f) == nil && f.Type == "authenticate" {
		k.client.allow = func() error { return k.api.Identify(c, f.Key) }
		return k.client.allow()
	}
	return &refusal.Error{Kind: refusal.KindUnauthenticated, Code: "invalid_api_key",
		Message: `this server needs a key; send it with the request that opens the connection, or in the first frame: {"type":"authenticate","key":"KEY"}`}
}

// write sends what there is to send until the connection ends, or the client takes no frame for too
// long.
func (k *connection) write() {
	defer k.close()
	for {
		next, ok := k.next()
		if !ok || !k.writeNext(next) {
			return
		}
	}
}

// next is a frame to send, or an answer to read the next frame of. A live frame comes only if there
// is nothing else. It is false when the connection ends.
func (k *connection) next() (next any, ok bool) {
	select {
	case f := <-k.out:
		return f, true
	case <-k.ready.some:
		return k.ready.take(), true
	default:
	}
	select {
	case f := <-k.out:
		return f, true
	case <-k.ready.some:
		return k.ready.take(), true
	case f := <-k.live:
		return f, true
	case <-k.ctx.Done():
		return nil, false
	}
}

// writeNext is false if it was the last frame.
func (k *connection) writeNext(next any) bool {
	switch f := next.(type) {
	case *answer:
		return k.writeFromLog(f)
	case closeFrame:
		_ = k.conn.Close(f.status, f.reason) // the client may have gone
		return false
	}
	return k.writeFrame(next)
}

// writeFromLog sends the next frame of an answer, if there is one.
func (k *connection) writeFromLog(a *answer) bool {
	if a.over {
		return true
	}
	f, last, lost := a.reader.Read()
	if a.over = last || lost; a.over {
		k.freeID(a) // before the client learns of the end and uses the id again
	}
	sent := f == nil || k.writeFrame(f)
	switch {
	case a.over:
		a.reader.Leave()
		k.finish(sent && last, a.reader.Told())
	case f != nil:
		k.ready.add(a)
	}
	return sent
}

func (k *connection) writeFrame(f any) bool {
	data, encoded := f.(json.RawMessage)
	if !encoded {
		var err error
		if data, err = json.Marshal(f); err != nil {
			k.api.Log.Error("a frame cannot be encoded", slog.Any("error", err))
			return false
		}
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

const (
	defaultIdlePing = 30 * time.Second
	confirmTime     = 5 * time.Second // how long a client may take to say that it has all of its answers
	attachTime      = 5 * time.Second // how long one that comes back while the server drains may take to attach to its answer
	lastTime        = time.Second     // how long clients may take for the last frames when the host's time is up
)

// ping asks the client whether it is there if nothing was sent to it for a while. This keeps
// proxies from closing the connection, and a connection whose client does not answer is closed. A
// busy connection is not asked: the pong would come only after all that a slow client has yet to
// read. It also asks after the end of each answer that the client could come back for.
func (k *connection) ping() {
	every := k.api.IdlePing
	if every == 0 {
		every = defaultIdlePing
	}
	idle := time.NewTicker(every)
	defer idle.Stop()
	for {
		select {
		case <-k.ctx.Done():
			return
		case <-k.unasked:
			k.confirm()
		case <-idle.C:
			if !k.wrote.Swap(false) && !k.answersPing(k.api.writeTimeout()) {
				k.close()
				return
			}
		}
	}
}

// answersPing reports whether the client answers a ping in time.
func (k *connection) answersPing(within time.Duration) bool {
	ctx, done := context.WithTimeout(k.ctx, within)
	defer done()
	return k.conn.Ping(ctx) == nil
}

// confirm asks the client whether it is there, if it was told ends of answers. Its pong shows that
// it has all that was sent before, and so need not come back for that; that bytes were written does
// not, since they may lie in a proxy.
func (k *connection) confirm() {
	k.asking.Lock()
	defer k.asking.Unlock()
	k.mu.Lock()
	told := slices.Clone(k.told)
	k.mu.Unlock()
	if len(told) == 0 || !k.answersPing(confirmTime) {
		return
	}
	k.settle(told)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.told = slices.DeleteFunc(k.told, func(t answerlog.Told) bool { return slices.Contains(told, t) })
}

func (k *connection) settle(told []answerlog.Told) {
	for _, t := range told {
		t.Settle()
	}
}

// isDeliberate reports whether the client closed the connection on purpose. A page that is left
// closes it with another status, and may come back.
func isDeliberate(err error) bool {
	status := websocket.CloseStatus(err)
	return status == websocket.StatusNormalClosure || status == websocket.StatusNoStatusRcvd
}

// closeFrame is the last thing the writer is handed: it closes the connection after all frames.
type closeFrame struct {
	status websocket.StatusCode
	reason string
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// closeOnShutdown ends the connection in order when the host shuts down: its answers' last frames
// first, then the closing handshake. That is as soon as all its answers are sent, so that its
// client begins the next one elsewhere. When the host's time is up, a client that does not take
// the last frames soon is cut off. late says that the connection was opened while the server
// drained: its client has a moment to attach.
func (k *connection) closeOnShutdown(late bool) {
	select {
	case <-k.ctx.Done():
		return
	case <-k.api.Draining:
	case <-k.api.Done:
	}
	goodbye := closeFrame{websocket.StatusGoingAway, "the server is shutting down"}
	var coming <-chan time.Time
	if late {
		coming = time.After(attachTime)
	}
	if k.awaitAnswers(k.api.Done, coming) {
		k.confirm()
		select {
		case k.out <- goodbye:
			return
		case <-k.ctx.Done():
			return
		case <-k.api.Done:
		}
	}
	timeIsUp, done := context.WithTimeout(k.ctx, lastTime)
	defer done()
	k.mu.Lock()
	k.closing = true
	k.mu.Unlock()
	if !k.awaitAnswers(timeIsUp.Done(), nil) || !k.send(timeIsUp, goodbye) {
		k.close()
	}
}

// awaitAnswers waits until no answer is going on, and has the connection begin none after that.
// While the client may be coming back, it waits for its first answer. It is false if the connection
// or the time ends first.
func (k *connection) awaitAnswers(timeIsUp <-chan struct{}, coming <-chan time.Time) bool {
	for {
		k.mu.Lock()
		if k.served {
			coming = nil
		}
		resting := coming == nil && k.going == 0
		k.closing = k.closing || resting
		k.mu.Unlock()
		if resting {
			return true
		}
		select {
		case <-k.less:
		case <-coming:
			coming = nil
		case <-timeIsUp:
			return false
		case <-k.ctx.Done():
			return false
		}
	}
}
