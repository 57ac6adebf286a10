// SPDX-License-Identifier: MIT

// Package pausing has passes of models beside the scheduler wait while a tick computes.
//
// A pass of embeddings and a tick of the scheduler want the same processors. Threads that compute
// beside each other cost both far more than half their speed, since those of one pass wait for each
// other all the time. So only one of them computes: a pass pauses while a tick computes, within its
// graph. After a tick it gets a part of the time that the tick took, so that it always makes
// progress.
package pausing

import (
	"sync"
	"time"
)

const (
	tickPart = 3 // a pass gets the time of the last tick, divided by this
	minShare = time.Millisecond
	maxShare = 20 * time.Millisecond // a quarter of the default target for the time between two tokens
)

// Pauser computes passes. Neither method waits long.
type Pauser interface {
	// Pause has a running pass, and later ones, wait soon, until Resume.
	Pause()
	Resume()
}

// Gate decides when passes of one kind compute: one at a time, and none while a tick does, or a
// pass of a kind for which they wait. The zero value is ready.
type Gate struct {
	passing sync.Mutex // held during a pass
	behind  *Gate      // whose passes wait for these as for a tick; nil: none do

	mu     sync.Mutex
	pass   Pauser        // that computes the running pass
	ended  chan struct{} // closed at the end of the running pass; nil: none runs
	pauses int           // of those for whom passes wait
	halted bool          // the pass was told
	since  time.Time     // pauses became 0, or 1
	share  time.Duration // that a pass gets after this pause
}

// Begin marks that a pass computes, once none of the same kind does; End must follow. If a tick
// computes, the pass waits as soon as it has begun.
func (t *Gate) Begin(p Pauser) {
	t.passing.Lock()
	if t.behind != nil {
		t.behind.Pause()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pass, t.ended = p, make(chan struct{})
	t.halt()
}

// End marks the end of a pass.
func (t *Gate) End() {
	t.mu.Lock()
	close(t.ended)
	t.ended = nil
	t.goOn() // the next pass begins as it is meant to
	t.mu.Unlock()
	if t.behind != nil {
		t.behind.Resume()
	}
	t.passing.Unlock()
}

// Pause has passes wait from now on, so that what the caller computes has the processors for
// itself. It returns once the running pass has had its share of the time since Resume. Several
// callers may pause them at once.
func (t *Gate) Pause() {
	t.mu.Lock()
	ended, left := t.ended, t.share-time.Since(t.since)
	if t.pauses > 0 {
		left = 0
	}
	t.mu.Unlock()
	if ended != nil && left > 0 {
		timer := time.NewTimer(left)
		defer timer.Stop()
		select {
		case <-ended:
		case <-timer.C:
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pauses++; t.pauses == 1 {
		t.since = time.Now()
		t.halt()
	}
}

// halt tells the running pass to pause if it is to.
func (t *Gate) halt() {
	if t.pauses > 0 && t.ended != nil && !t.halted {
		t.pass.Pause()
		t.halted = true
	}
}

// goOn tells a pass that was told to pause to go on.
func (t *Gate) goOn() {
	if t.halted {
		t.pass.Resume()
		t.halted = false
	}
}

// Resume ends a Pause.
func (t *Gate) Resume() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pauses--; t.pauses > 0 {
		return
	}
	now := time.Now()
	t.share = min(max(now.Sub(t.since)/tickPart, minShare), maxShare)
	t.since = now
	t.goOn()
}

// Passes are all that compute beside the schedulers of a machine.
type Passes struct {
	Embeddings Gate
	Encoders   Gate // of pictures and sounds; they wait for embeddings, of which a pass is much shorter
}

// NewPasses makes gates for all models.
func NewPasses() *Passes {
	p := &Passes{}
	p.Embeddings.behind = &p.Encoders
	return p
}

// Pause pauses all of them.
func (p *Passes) Pause() {
	p.Embeddings.Pause()
	p.Encoders.Pause()
}

// Resume ends Pause.
func (p *Passes) Resume() {
	p.Embeddings.Resume()
	p.Encoders.Resume()
}
