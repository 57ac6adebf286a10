// SPDX-License-Identifier: MIT

package native

import (
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// object is the Go side of a C object; each type of this package that has one embeds it.
type object struct {
	guard
	h       *handle
	cleanup runtime.Cleanup
}

// own takes over the C object c, which was made on a model unless that is nil. free runs once
// nothing uses c any more, and the model is freed later than c.
func (o *object) own(c unsafe.Pointer, model *Model, free func()) {
	if model != nil {
		parent, freeChild := model.h, free
		parent.keep()
		free = func() { freeChild(); parent.drop() }
	}
	o.h = newHandle(c, free)
	o.cleanup = runtime.AddCleanup(o, (*handle).drop, o.h)
}

// Close frees the object once nothing that was built on it is open. To close again is harmless.
func (o *object) Close() error {
	if o.shut() {
		o.cleanup.Stop()
		o.h.drop()
	}
	return nil
}

// handle counts the owners of a C object: the Go value that made it, and every value built on it.
// The last one frees it.
type handle struct {
	c      unsafe.Pointer
	owners atomic.Int32
	free   func()
}

func newHandle(c unsafe.Pointer, free func()) *handle {
	h := &handle{c: c, free: free}
	h.owners.Store(1)
	return h
}

func (h *handle) keep() { h.owners.Add(1) }

func (h *handle) drop() {
	if h.owners.Add(-1) == 0 {
		h.free()
	}
}

// hold becomes an owner unless the object is gone.
func (h *handle) hold() bool {
	for {
		n := h.owners.Load()
		if n == 0 {
			return false
		}
		if h.owners.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// guard keeps Close and uses of a value apart: a use that has begun ends before the value closes,
// and a later one is refused.
type guard struct {
	mu     sync.RWMutex
	closed bool
}

// enter begins a use that may run together with others; leave must follow where it returns nil.
func (g *guard) enter() error {
	g.mu.RLock()
	if g.closed {
		g.mu.RUnlock()
		return ErrClosed
	}
	return nil
}

func (g *guard) leave() { g.mu.RUnlock() }

// enterAlone begins a use that runs alone; leaveAlone must follow where it returns nil.
func (g *guard) enterAlone() error {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return ErrClosed
	}
	return nil
}

func (g *guard) leaveAlone() { g.mu.Unlock() }

// shut closes the value and reports whether it was open.
func (g *guard) shut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	was := !g.closed
	g.closed = true
	return was
}
