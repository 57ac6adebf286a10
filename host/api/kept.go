// SPDX-License-Identifier: MIT

package api

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/penstock/penstock/host/sampling"
)

// The bounds of answers that may outlive their connections.
const (
	maxDetach      = 10 * time.Minute
	maxKept        = 1024
	detachedBuffer = 1024 // events that nobody has read yet and such a stream goes on with
)

// Attacher lets another reader go on with a stream after event seq; −1 begins at the first. Streams may be one.
type Attacher interface {
	Attach(seq int64) error
}

// kept is an answer that outlives its connection for a while, so that the client can come back to it.
type kept struct {
	shelf  *shelf
	stream Stream
	params sampling.Params
	detach time.Duration

	mu    sync.Mutex // held while it changes hands
	owner *live      // who reads it, or has been the last to
	timer *time.Timer
}

// shelf holds the kept answers by the unguessable names of their streams.
type shelf struct {
	mu   sync.Mutex
	kept map[string]*kept
}

func (h *shelf) full() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.kept) >= maxKept
}

func (h *shelf) add(st Stream, p sampling.Params, detach time.Duration) *kept {
	k := &kept{shelf: h, stream: st, params: p, detach: detach}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.kept == nil {
		h.kept = map[string]*kept{}
	}
	h.kept[st.ID()] = k
	return k
}

func (h *shelf) find(name string) *kept {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.kept[name]
}

// leave starts the time the stream has left without a reader; also after its end, which may have been lost on the way.
func (k *kept) leave() {
	k.timer = time.AfterFunc(k.detach, k.drop)
}

func (k *kept) drop() {
	k.shelf.mu.Lock()
	delete(k.shelf.kept, k.stream.ID())
	k.shelf.mu.Unlock()
	k.stream.Cancel()
}

// attach goes on with a kept answer. A connection that still reads it, because it has not noticed that it is lost,
// lets go first.
func (k *socket) attach(f clientFrame) error {
	if f.After == nil || *f.After < -1 {
		return invalid("after", "after must be the last seq that was seen, or -1 to begin at the first")
	}
	if err := k.vacant(f.ID); err != nil {
		return err
	}
	unknown := &Error{Status: http.StatusNotFound, Code: "unknown_stream", Type: typeInvalid, Param: "stream",
		Message: "no such stream: it was not started with detach_ms, or its time is up"}
	entry := k.service.kept.find(f.Stream)
	if entry == nil {
		return unknown
	}
	entry.mu.Lock()
	defer entry.mu.Unlock()
	entry.owner.stop()
	<-entry.owner.gone
	if !entry.timer.Stop() {
		return unknown // its time was up just now
	}
	st, ok := entry.stream.(Attacher)
	if !ok {
		entry.leave()
		return unsupported("type", "attach is not supported by this server")
	}
	if err := st.Attach(*f.After); err != nil {
		entry.leave()
		return &Error{Status: http.StatusGone, Code: "events_gone", Type: typeInvalid, Param: "after",
			Message: fmt.Sprintf("after is %d; the answer has not come so far: %v", *f.After, err)}
	}
	return k.follow(&live{socket: k, id: f.ID, stream: entry.stream, params: entry.params, kept: entry})
}
