// SPDX-License-Identifier: MIT

package native

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// handle owns one C object. It is freed when the last owner lets go: the Go value that made it, and every value built
// on it.
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

// guard keeps Close and use of a value apart: a use that began is finished before the value closes, and one that
// comes later is refused.
type guard struct {
	mu     sync.RWMutex
	closed bool
}

// enter begins a use that may run beside others; leave must follow where it returns nil.
func (g *guard) enter() error {
	g.mu.RLock()
	if g.closed {
		g.mu.RUnlock()
		return ErrClosed
	}
	return nil
}

func (g *guard) leave() { g.mu.RUnlock() }

// enterAlone begins a use that runs beside no other; leaveAlone must follow where it returns nil.
func (g *guard) enterAlone() error {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return ErrClosed
	}
	return nil
}

func (g *guard) leaveAlone() { g.mu.Unlock() }

// shut closes the value and tells whether it was open.
func (g *guard) shut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	was := !g.closed
	g.closed = true
	return was
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
