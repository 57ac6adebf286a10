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

// live is an answer that a connection reads.
type live struct {
	socket *socket
	id     string
	stream Stream
	params sampling.Params
	kept   *kept // where it may outlive its connection

	stop context.CancelFunc // makes it let go of the stream
	gone chan struct{}      // closed when it has
}

// generate starts an answer.
func (k *socket) generate(f clientFrame) error {
	if err := k.vacant(f.ID); err != nil {
		return err
	}
	if f.DetachMS < 0 || f.DetachMS > maxDetach.Milliseconds() {
		return invalid("detach_ms", "detach_ms is %d; it must be from 0 to %d", f.DetachMS, maxDetach.Milliseconds())
	}
	g, err := k.service.planFrame(of(k.ctx, k.client), f.Request)
	if err != nil {
		return err
	}
	if err := checkPriority(g.priority, k.mayRaise); err != nil {
		return err
	}
	g.salt, g.client = k.salt, k.client
	g.detach = time.Duration(f.DetachMS) * time.Millisecond
	if g.detach > 0 && k.service.kept.full() {
		return &Error{Status: http.StatusTooManyRequests, Code: "too_many_detachable", Type: typeBusy, Param: "detach_ms",
			Message: "too many answers outlive their connections; try again later or without detach_ms"}
	}
	streams, err := k.service.start(k.ctx, &g)
	if err != nil {
		return err
	}
	l := &live{socket: k, id: f.ID, stream: streams[0], params: g.params}
	if g.detach > 0 {
		l.kept = k.service.kept.add(streams[0], g.params, g.detach)
		l.kept.mu.Lock()
		defer l.kept.mu.Unlock()
	}
	return k.follow(l)
}

// planFrame makes a generation of a generate frame's request: a chat where it has messages, else a text completion.
func (s *service) planFrame(ctx context.Context, request json.RawMessage) (generation, error) {
	if !isSet(request) {
		return generation{}, invalid("request", "request is missing: the body of a chat or text completion")
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
		return g, invalid("request", "request has both messages and prompt; it must have one")
	case probe.Messages != nil:
		g, err = s.planChat(ctx, request)
	default:
		g, err = s.planText(ctx, request)
	}
	if err == nil && g.n*len(g.prompts) != 1 {
		err = invalid("n", "a generate frame starts one answer: n must be 1, and prompt a single one")
	}
	return g, err
}

// vacant refuses an id that is in use, and too many answers at once.
func (k *socket) vacant(id string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.live[id] != nil {
		return invalid("id", "id %q is in use", id)
	}
	if len(k.live) >= maxLive {
		return &Error{Status: http.StatusTooManyRequests, Code: "too_many_streams", Type: typeBusy,
			Message: fmt.Sprintf("%d answers are going on in this connection; wait for one to end", maxLive)}
	}
	return nil
}

// follow begins to read the stream. A connection that is closing takes no more; the stream is then let go as if it
// had been lost.
func (k *socket) follow(l *live) error {
	var ctx context.Context
	ctx, l.stop = context.WithCancel(k.ctx)
	l.gone = make(chan struct{})
	if l.kept != nil {
		l.kept.owner = l
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closing {
		l.release()
		return problem(scheduler.ErrClosed, "")
	}
	k.live[l.id] = l
	k.pumps.Go(func() { l.pump(ctx) })
	return nil
}

// release lets go of the stream: it is cancelled, which is nothing once it has ended, or kept for a while.
func (l *live) release() {
	if l.kept != nil {
		l.kept.leave()
	} else {
		l.stream.Cancel()
	}
	l.stop()
	close(l.gone)
}

// pump sends the stream's events until its end, the connection's, or until another connection takes it over.
func (l *live) pump(ctx context.Context) {
	defer l.release()
	defer l.forget()
	for {
		e, err := l.stream.Next(ctx)
		if err != nil {
			return
		}
		if e.Kind == scheduler.KindEnd {
			l.forget() // before the client learns of the end and uses the id again
		}
		for _, f := range l.framesOf(e) {
			if !l.socket.send(f) {
				return
			}
		}
		if e.Kind == scheduler.KindEnd {
			return
		}
	}
}

// forget makes the id free, unless another answer has it already.
func (l *live) forget() {
	l.socket.mu.Lock()
	defer l.socket.mu.Unlock()
	if l.socket.live[l.id] == l {
		delete(l.socket.live, l.id)
	}
}
