// SPDX-License-Identifier: MIT

package socket

import (
	"context"
	"slices"
	"time"

	"github.com/coder/websocket"

	"github.com/penstock/penstock/host/api/answerlog"
)

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
