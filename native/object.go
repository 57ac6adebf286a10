// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
// #include <stdlib.h>
import "C"

import (
	"errors"
	"fmt"
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

// The kinds of errors, for errors.Is. The error itself carries llama.cpp's own reason.
var (
	ErrClosed      = errors.New("used after Close")
	ErrInvalid     = errors.New("invalid argument")
	ErrFailed      = errors.New("llama.cpp failed")
	ErrNoMemory    = errors.New("out of memory")
	ErrNoCells     = errors.New("no room in the KV cache") // the pass had no effect
	ErrAborted     = errors.New("aborted")                 // a part of the batch may be in the cache
	ErrCancelled   = errors.New("cancelled")
	ErrUnsupported = errors.New("not supported by llama.cpp")
	ErrNoToken     = fmt.Errorf("%w: no token is left to choose from", ErrFailed) // biases and masks leave none
)

// What LoadModel finds wrong with a file before llama.cpp sees it.
var (
	ErrNotFound = errors.New("file not found")
	ErrNotGGUF  = errors.New("not a GGUF file")
	ErrBadModel = errors.New("bad model file")
	ErrTooLarge = errors.New("model too large for memory")
)

var sentinels = map[C.int32_t]error{
	C.PS_INVALID:     ErrInvalid,
	C.PS_FAILED:      ErrFailed,
	C.PS_NO_MEMORY:   ErrNoMemory,
	C.PS_NO_CELLS:    ErrNoCells,
	C.PS_ABORTED:     ErrAborted,
	C.PS_CANCELLED:   ErrCancelled,
	C.PS_UNSUPPORTED: ErrUnsupported,
	C.PS_NO_TOKEN:    ErrNoToken,
}

// failure turns a code of the shim into an error; the common case allocates nothing.
func failure(code C.int32_t, e *C.ps_error) error {
	if code == C.PS_OK {
		return nil
	}
	return fmt.Errorf("%w: %s", sentinels[code], C.GoString(&e.text[0]))
}

// takeText copies bytes the shim allocated and frees them.
func takeText(t *C.ps_text) string {
	s := unsafe.String((*byte)(unsafe.Pointer(t.data)), int(t.size))
	s = string(append([]byte(nil), s...))
	C.ps_text_free(t)
	return s
}

// textPointer hands a string's bytes to C for the length of a call. They are not zero-terminated.
func textPointer(s string) *C.char {
	return (*C.char)(unsafe.Pointer(unsafe.StringData(s)))
}

func freeString(s *C.char) { C.free(unsafe.Pointer(s)) }
