// SPDX-License-Identifier: MIT

package embedding

import (
	"sync"
	"time"
)

// A pass of embeddings and a tick of the scheduler want the same processors. Threads that compute beside each other cost both far more
// than half their speed, since those of one pass wait for each other all the time. So they take turns: a pass of embeddings pauses while
// a tick computes, between two operations of its graph. After a tick it gets a part of the time that this took.
const (
	tickPart = 3 // a pass gets the time of the last tick, divided by this
	minShare = time.Millisecond
	maxShare = 20 * time.Millisecond // a quarter of the default target for the time between two tokens
)

// pauser is what of a backend turns need.
type pauser interface {
	Pause()
	Resume()
}

// Turns decides when passes compute: those of the services that share it one at a time, and none while a tick does. The zero value is
// ready.
type Turns struct {
	passing sync.Mutex // held during a pass

	mu      sync.Mutex
	backend pauser        // of the running pass
	pass    chan struct{} // closed at the end of the running pass; nil: none runs
	paused  bool          // a tick computes
	halted  bool          // the backend was told
	since   time.Time     // of the last change of paused
	share   time.Duration // that a pass gets after this tick
}

// begin marks that a pass computes. If a tick does, the pass waits in its first operation.
func (t *Turns) begin(b pauser) {
	t.passing.Lock()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.backend, t.pass = b, make(chan struct{})
	t.halt()
}

// end marks the end of a pass.
func (t *Turns) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.pass)
	t.pass = nil
	if t.halted { // at its end; the next pass begins as it is meant to
		t.backend.Resume()
		t.halted = false
	}
	t.passing.Unlock()
}

// Pause has passes wait from now on, so that what the caller computes has the processors for itself. It returns once the running pass has
// had its share of the time since Resume.
func (t *Turns) Pause() {
	t.mu.Lock()
	pass, left := t.pass, t.share-time.Since(t.since)
	t.mu.Unlock()
	if pass != nil && left > 0 {
		timer := time.NewTimer(left)
		defer timer.Stop()
		select {
		case <-pass:
		case <-timer.C:
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.paused, t.since = true, time.Now()
	t.halt()
}

// halt tells the backend to pause if a tick computes and a pass does.
func (t *Turns) halt() {
	if t.paused && t.pass != nil && !t.halted {
		t.backend.Pause()
		t.halted = true
	}
}

// Resume ends Pause.
func (t *Turns) Resume() {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	t.share = min(max(now.Sub(t.since)/tickPart, minShare), maxShare)
	t.paused, t.since = false, now
	if t.halted {
		t.backend.Resume()
		t.halted = false
	}
}
