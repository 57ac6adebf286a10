// SPDX-License-Identifier: MIT

package socket

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler/ring"
)

// maxDetach is the longest time that an answer may outlive its connection.
const maxDetach = 10 * time.Minute

// detachable is an answer that outlives its connection for a while, so that the client can come
// back to it. Once it has ended and nobody reads it, only its frames are kept: its model may be
// unloaded.
type detachable struct {
	all    *detachables
	api    *API
	caller completion.Caller
	detach time.Duration // how long it goes on without a reader
	over   atomic.Bool   // it has ended
	forgot atomic.Bool   // it is none any more: its events took too much
	paused atomic.Bool

	mu      sync.Mutex // held while another connection takes it over, or it is kept
	name    string     // of its stream, without the server's
	stream  serving.Stream
	request *completion.Submitted // nil once it is kept
	seed    uint32                // with which it began
	parts   bool                  // it is taken apart
	reader  *answer               // who reads it, or was the last to
	free    func()                // cancels what still runs and releases the request, once

	steering sync.Mutex // held while the request is read or changed

	holding sync.Mutex
	release func() // lets the host end; nil: it need not wait for the answer's client

	// For detachables, under its lock.
	bytes   int64
	kept    *kept         // nil: it is read from its stream
	oldest  *list.Element // of those that may be forgotten; nil: it may not
	removed bool
	expiry  *time.Timer // runs while nobody reads it

	counted uint64 // events whose bytes count, for the reader
	pending int64  // bytes of them that do not yet
}

// begun notes what is computed.
func (d *detachable) begun(a *answer) {
	r := a.choice.Request
	d.name, d.stream, d.request, d.seed, d.parts = a.stream.ID(), a.stream, r, a.seed, a.parts != nil
	d.free = sync.OnceFunc(func() {
		a.stream.Cancel()
		r.Release()
	})
	d.all.add(d)
}

// ended notes that the answer has ended. The scheduler calls it.
func (d *detachable) ended() {
	d.over.Store(true)
	go d.keep()
}

// detached starts the time that the answer may go on without a reader. It does so after the end,
// too: the end may have been lost on the way to the client.
func (d *detachable) detached() { d.all.left(d) }

func (d *detachable) expire() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all.remove(d)
	d.free()
}

// named has the host's end wait for the client, who knows the stream's name from now on and may
// come back by it.
func (d *detachable) named() {
	d.holding.Lock()
	defer d.holding.Unlock()
	if d.release == nil {
		d.release = d.api.Hold()
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

// note keeps whether the answer is paused, for clients that come back, and returns who reads it.
func (d *detachable) note(paused bool) (reader *answer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.paused.Store(paused)
	return d.reader
}

// attach goes on with a detachable answer. A connection that still reads it, because it has not
// noticed that it is lost, lets go first.
func (k *connection) attach(f clientFrame) error {
	if f.After == nil || *f.After < -1 {
		return refusal.Invalid("after", "after must be the last seq that was seen, or -1 to begin at the first")
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
	if !k.caller.Owns(d.caller) { // who has learnt the name from elsewhere is told what a stranger is
		return unknownStream(absentStream)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reader.stop()
	<-d.reader.released
	if !d.all.take(d) {
		return unknownStream(absentStream) // its time was up just now
	}
	a.detachable, a.seed, a.after, a.paused = d, d.seed, *f.After, d.paused.Load()
	if err := a.resume(); err != nil {
		d.detached()
		return err
	}
	d.named()
	return k.follow(a)
}

// resume finds what to read of an answer that its client comes back to.
func (a *answer) resume() error {
	d := a.detachable
	if d.kept != nil {
		a.kept, a.stream = d.kept, keptStream{name: d.name}
		if a.after >= d.kept.events {
			return a.eventsGone(ring.ErrGone)
		}
		return nil
	}
	a.stream, a.choice = d.stream, &completion.Choice{Request: d.request}
	return a.seek()
}

func (a *answer) eventsGone(err error) error {
	return &refusal.Error{Kind: refusal.KindLost, Code: "events_gone", Field: "after",
		Message: fmt.Sprintf("after is %d; the answer has not come so far: %v", a.after, err)}
}

// seek finds what to read for a client that comes back. The last event that it has seen is read
// again: if that is the end, it has seen the text of it, and perhaps no end frame. An answer that
// is taken apart is read from its beginning: the parser wants all of it.
func (a *answer) seek() (err error) {
	if err := a.stream.Attach(a.after); err != nil {
		return a.eventsGone(err)
	}
	if !a.detachable.parts {
		return a.stream.Attach(max(a.after-1, -1))
	}
	if a.parts, err = newParts(a.choice.Request.Prompted, true); err != nil {
		return err
	}
	if err = a.stream.Attach(-1); err != nil {
		a.parts.close()
	}
	return err
}
