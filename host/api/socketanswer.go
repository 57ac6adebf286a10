// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler"
)

// socketAnswer is an answer that goes over a WebSocket connection.
type socketAnswer struct {
	socket     *socket
	id         string
	stream     Stream
	params     sampling.Params
	detachable *detachable // where it may outlive its connection; nil elsewhere

	stop     context.CancelFunc // makes it release the stream
	released chan struct{}      // closed when it has
}

// generate starts an answer.
func (k *socket) generate(f clientFrame) error {
	if err := k.checkFree(f.ID); err != nil {
		return err
	}
	if f.DetachMS < 0 || f.DetachMS > maxDetach.Milliseconds() {
		return Invalid("detach_ms", "detach_ms is %d; it must be from 0 to %d", f.DetachMS, maxDetach.Milliseconds())
	}
	g, err := k.service.parseFrame(k.ctx, k.caller, f.Request)
	if err != nil {
		return err
	}
	g.detach = time.Duration(f.DetachMS) * time.Millisecond
	streams, err := k.service.submit(k.ctx, &g)
	if err != nil {
		return err
	}
	a := &socketAnswer{socket: k, id: f.ID, stream: streams[0], params: g.params}
	if g.detach > 0 {
		a.detachable = k.service.detachables.add(streams[0], g.params, g.detach)
		a.detachable.mu.Lock()
		defer a.detachable.mu.Unlock()
	}
	return k.follow(a)
}

// parseFrame turns a generate frame's request into a generation: a chat if it has messages, else a text completion.
func (s *service) parseFrame(ctx context.Context, from caller, request json.RawMessage) (generation, error) {
	if !isSet(request) {
		return generation{}, Invalid("request", "request is missing: the body of a chat or text completion")
	}
	var probe struct {
		Messages json.RawMessage `json:"messages"`
		Prompt   json.RawMessage `json:"prompt"`
	}
	if err := decode(request, &probe); err != nil {
		return generation{}, err
	}
	var g generation
	var err error
	switch {
	case probe.Messages != nil && probe.Prompt != nil:
		return g, Invalid("request", "request has both messages and prompt; it must have one")
	case probe.Messages != nil:
		g, err = s.parseChat(ctx, from, request)
	default:
		g, err = s.parseText(ctx, from, request)
	}
	if err == nil && g.choices*len(g.prompts) != 1 {
		err = Invalid("n", "a generate frame starts one answer: n must be 1, and prompt a single one")
	}
	return g, err
}

// checkFree refuses an id that is in use, and too many answers at once.
func (k *socket) checkFree(id string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.answers[id] != nil {
		return Invalid("id", "id %q is in use", id)
	}
	if len(k.answers) >= maxSocketAnswers {
		return &Error{Status: http.StatusTooManyRequests, Code: "too_many_streams", Type: TypeBusy,
			Message: fmt.Sprintf("%d answers are going on in this connection; wait for one to end", maxSocketAnswers)}
	}
	return nil
}

// follow begins to read the stream. A connection that is closing takes no more answers: it releases the stream, as a lost connection
// does.
func (k *socket) follow(a *socketAnswer) error {
	var ctx context.Context
	ctx, a.stop = context.WithCancel(k.ctx)
	a.released = make(chan struct{})
	if a.detachable != nil {
		a.detachable.reader = a
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closing {
		a.release()
		return asError(scheduler.ErrClosed, "")
	}
	k.answers[a.id] = a
	k.forwarding.Go(func() { a.forward(ctx) })
	return nil
}

// release gives up the stream. A detachable answer goes on without a reader for a while; any other is cancelled, which does nothing if it
// has ended.
func (a *socketAnswer) release() {
	if a.detachable != nil {
		a.detachable.detached()
	} else {
		a.stream.Cancel()
	}
	a.stop()
	close(a.released)
}

// forward sends the stream's events until it ends, the connection ends, or another connection takes the stream over.
func (a *socketAnswer) forward(ctx context.Context) {
	defer a.release()
	defer a.freeID()
	for {
		e, err := a.stream.Next(ctx)
		if err != nil {
			return
		}
		if e.Kind == scheduler.KindEnd {
			a.freeID() // before the client learns of the end and uses the id again
		}
		for _, f := range a.framesOf(e) {
			if !a.socket.send(f) {
				return
			}
		}
		if e.Kind == scheduler.KindEnd {
			return
		}
	}
}

// freeID lets the client use the id again. Another answer may have it already.
func (a *socketAnswer) freeID() {
	a.socket.mu.Lock()
	defer a.socket.mu.Unlock()
	if a.socket.answers[a.id] == a {
		delete(a.socket.answers, a.id)
	}
}
