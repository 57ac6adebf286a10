// SPDX-License-Identifier: MIT

package socket

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock/penstock/host/completion"
)

// The bounds of answers that may outlive their connections.
const (
	maxDetach     = 10 * time.Minute
	maxDetachable = 1024
)

// Attacher lets another reader go on with a stream after event seq; −1 begins at the first. A Stream may be one.
type Attacher interface {
	Attach(seq int64) error
}

// detachable is an answer that outlives its connection for a while, so that the client can come back to it.
type detachable struct {
	all     *detachables
	hold    func() (release func()) // has the host go on until release is called
	stream  completion.Stream
	request *completion.Request
	detach  time.Duration // how long it goes on without a reader
	seed    uint32        // with which it began
	parts   bool          // it is taken apart
	paused  atomic.Bool

	mu     sync.Mutex  // held while another connection takes it over
	reader *answer     // who reads it, or was the last to
	expiry *time.Timer // runs while nobody reads it

	steering sync.Mutex // held while the request is read or changed

	holding sync.Mutex
	release func() // lets the host end; nil: it need not wait for the answer's client
}

// detachables are the detachable answers by the unguessable names of their streams.
type detachables struct {
	mu       sync.Mutex
	byStream map[string]*detachable
}

func (d *detachables) full() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.byStream) >= maxDetachable
}

func (d *detachables) add(a *answer, detach time.Duration) *detachable {
	found := &detachable{all: d, hold: a.connection.api.Hold, stream: a.stream, request: a.choice.Request, detach: detach, seed: a.seed, parts: a.parts != nil}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.byStream == nil {
		d.byStream = map[string]*detachable{}
	}
	d.byStream[a.stream.ID()] = found
	return found
}

func (d *detachables) find(stream string) *detachable {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.byStream[stream]
}

// detached starts the time that the answer may go on without a reader. It does so after the end, too: the end may have been lost on
// the way to the client.
func (d *detachable) detached() {
	d.expiry = time.AfterFunc(d.detach, d.expire)
}

func (d *detachable) expire() {
	d.all.mu.Lock()
	delete(d.all.byStream, d.stream.ID())
	d.all.mu.Unlock()
	d.stream.Cancel()
	d.request.Release()
	d.settled()
}

// named has the host's end wait for the client, who knows the stream's name from now on and may come back by it.
func (d *detachable) named() {
	d.holding.Lock()
	defer d.holding.Unlock()
	if d.release == nil {
		d.release = d.hold()
	}
}

// settled lets the host end: the client has all of the answer, or its time is up.
func (d *detachable) settled() {
	d.holding.Lock()
	defer d.holding.Unlock()
	if d.release != nil {
		d.release()
		d.release = nil
	}
}

// toldOver are those whose end was sent over a connection.
func (d *detachables) toldOver(k *connection) (told []*detachable) {
	d.mu.Lock()
	all := slices.Collect(maps.Values(d.byStream))
	d.mu.Unlock()
	for _, each := range all {
		each.mu.Lock()
		if r := each.reader; r != nil && r.connection == k && r.told.Load() {
			told = append(told, each)
		}
		each.mu.Unlock()
	}
	return told
}

// note keeps whether the answer is paused, for clients that come back, and returns who reads it.
func (d *detachable) note(paused bool) (reader *answer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.paused.Store(paused)
	return d.reader
}

// attach goes on with a detachable answer. A connection that still reads it, because it has not noticed that it is lost,
// lets go first.
func (k *connection) attach(f clientFrame) error {
	if f.After == nil || *f.After < -1 {
		return completion.Invalid("after", "after must be the last seq that was seen, or -1 to begin at the first")
	}
	return k.begin(f, "id", f.ID, func(_ context.Context, a *answer) error {
		return k.rescue(func() error { return a.takeOver(f) })
	})
}

// takeOver makes an answer of the stream that a frame names.
func (a *answer) takeOver(f clientFrame) error {
	k := a.connection
	d, err := k.api.find(f.Stream)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reader.stop()
	<-d.reader.released
	if !d.expiry.Stop() {
		return unknownStream(absentStream) // its time was up just now
	}
	st, ok := d.stream.(Attacher)
	if !ok {
		d.detached()
		return completion.Unsupported("type", "attach is not supported by this server")
	}
	a.stream, a.choice, a.detachable, a.seed = d.stream, &completion.Choice{Request: d.request}, d, d.seed
	a.after, a.paused = *f.After, d.paused.Load()
	if err := a.seek(st); err != nil {
		d.detached()
		return err
	}
	d.named()
	return k.follow(a)
}

// seek finds what to read for a client that comes back. The last event that it has seen is read again: if that is the end, it has seen
// the text of it, and perhaps no end frame. An answer that is taken apart is read from its beginning: the parser wants all of it.
func (a *answer) seek(st Attacher) (err error) {
	if err := st.Attach(a.after); err != nil {
		return &completion.Error{Status: http.StatusGone, Code: "events_gone", Type: completion.TypeInvalid, Param: "after",
			Message: fmt.Sprintf("after is %d; the answer has not come so far: %v", a.after, err)}
	}
	if !a.detachable.parts {
		return st.Attach(max(a.after-1, -1))
	}
	if a.parts, err = newParts(a.choice.Request, true); err != nil {
		return err
	}
	if err = st.Attach(-1); err != nil {
		a.parts.close()
	}
	return err
}
