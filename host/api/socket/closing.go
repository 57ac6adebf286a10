// SPDX-License-Identifier: MIT

package socket

import (
	"time"

	"github.com/coder/websocket"
)

// attachTime is how long a client that comes back while the server drains may take to attach to
// its answer.
const attachTime = 5 * time.Second

// lastTime is how long clients may take for the last frames when the host's time is up.
const lastTime = time.Second

// closeFrame is the last thing the writer is handed: it closes the connection after all frames.
type closeFrame struct {
	status websocket.StatusCode
	reason string
}

func (a *API) isDraining() bool {
	select {
	case <-a.Draining:
		return true
	default:
		return false
	}
}

// closeOnShutdown ends the connection in order when the host shuts down: its answers' last frames
// first, then the closing handshake. That is as soon as all its answers are sent, so that its
// client begins the next one elsewhere. When the host's time is up, a client that does not take
// the last frames soon is cut off.
func (k *connection) closeOnShutdown() {
	select {
	case <-k.ctx.Done():
		return
	case <-k.api.Draining:
	case <-k.api.Done:
	}
	goodbye := closeFrame{websocket.StatusGoingAway, "the server is shutting down"}
	if k.rest() {
		k.confirm()
		select {
		case k.out <- goodbye:
			return
		case <-k.ctx.Done():
			return
		case <-k.api.Done:
		}
	}
	k.mu.Lock()
	k.closing = true
	k.mu.Unlock()
	sent := make(chan struct{})
	go func() { k.forwarding.Wait(); close(sent) }()
	late := time.NewTimer(lastTime)
	defer late.Stop()
	select {
	case <-sent:
	case <-late.C:
		k.close()
	case <-k.ctx.Done():
	}
	<-sent
	select {
	case k.out <- goodbye:
	case <-late.C:
		k.close()
	case <-k.ctx.Done():
	}
}

// rest waits until no answer is going on, and has the connection begin none after that. It is
// false where the connection or the host's time ends first.
func (k *connection) rest() bool {
	var coming <-chan time.Time // the client has so long to attach
	if k.late {
		timer := time.NewTimer(attachTime)
		defer timer.Stop()
		coming = timer.C
	}
	for {
		if coming == nil && k.quiesce() {
			return true
		}
		select {
		case <-k.freed:
			if k.served.Load() {
				coming = nil
			}
		case <-coming:
			coming = nil
		case <-k.api.Done:
			return false
		case <-k.ctx.Done():
			return false
		}
	}
}

// quiesce has the connection begin no more answers if none is going on.
func (k *connection) quiesce() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closing = k.closing || k.going == 0
	return k.closing
}
