// SPDX-License-Identifier: MIT

package native

// #cgo CFLAGS: -I${SRCDIR}/../build/llama.cpp/out/include -I${SRCDIR}/llama.cpp/shim
// #cgo LDFLAGS: -L${SRCDIR}/../build/llama.cpp/out/lib -lpenstock_llama -lm -lpthread
// #cgo linux LDFLAGS: -lstdc++ -ldl
// #cgo darwin LDFLAGS: -lc++
// #include "penstock.h"
// extern void penstockLog(int32_t level, char *line, size_t size);
// #include <stdlib.h>
import "C"

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Set by zz_stamp.go, which the build of the library writes, with the flags that its backend is
// linked with.
var buildStamp, buildBackend string

// Build names the library that is linked: the stamp over its source and flags, with the level of
// the CPU where it has several, and its backend (cpu, cuda, ...).
func Build() (stamp, backend string) {
	if level := chosenLevel.Used; level != "" {
		return buildStamp + "-" + level, buildBackend
	}
	return buildStamp, buildBackend
}

// Version is llama.cpp's own version.
func Version() string { return C.GoString(C.ps_version()) }

// ReturnMemory gives memory that llama.cpp has freed back to the system. glibc keeps it otherwise,
// for each of its threads' arenas: hundreds of MiB after a busy time. It takes milliseconds in
// which allocations wait, so it is for times of rest. Other C libraries keep little, and there it
// does nothing.
func ReturnMemory() { C.ps_return_memory() }

// maxEarlyLines is how many lines are kept for the first logger.
const maxEarlyLines = 64

var logger atomic.Pointer[slog.Logger] // nil until SetLogger

// early holds the lines from before there was a logger: while they start, GPU backends log which
// devices they found, or why none.
var early struct {
	sync.Mutex
	lines []earlyLine
}

type earlyLine struct {
	level int
	text  string
}

func init() {
	useLevel()
	C.ps_start(C.ps_log_fn(C.penstockLog))
	UseKernels(ChoosePenstock.Without())
}

// levels are slog's levels by ggml's. What ggml calls information is a hundred lines for each
// model, useful for debugging only.
var levels = [...]slog.Level{1: slog.LevelDebug, 2: slog.LevelDebug, 3: slog.LevelWarn, 4: slog.LevelError}

// SetLogger sends the lines that llama.cpp logs to l; the first call also sends the first 64 lines
// from before. Lines below the lowest level that is enabled in l now are dropped in C.
func SetLogger(l *slog.Logger) {
	lowest := len(levels)
	for i := len(levels) - 1; i > 0; i-- {
		if l.Enabled(context.Background(), levels[i]) {
			lowest = i
		}
	}
	C.ps_log_level(C.int32_t(lowest))
	early.Lock()
	defer early.Unlock()
	for _, line := range early.lines {
		write(l, line.level, line.text)
	}
	early.lines = nil
	logger.Store(l)
}

//export penstockLog
func penstockLog(level C.int32_t, line *C.char, size C.size_t) {
	logged(int(level), C.GoStringN(line, C.int(size)))
}

func logged(level int, text string) {
	if l := logger.Load(); l != nil {
		write(l, level, text)
		return
	}
	early.Lock()
	defer early.Unlock()
	if l := logger.Load(); l != nil {
		write(l, level, text)
	} else if len(early.lines) < maxEarlyLines {
		early.lines = append(early.lines, earlyLine{level, text})
	}
}

func write(l *slog.Logger, level int, text string) {
	i := min(max(level, 1), len(levels)-1)
	l.Log(context.Background(), levels[i], text, "source", "llama.cpp")
}

// llamaLayout is the struct sizes, field offsets and enum values of llama.h that the shim was
// compiled with.
func llamaLayout() map[string]int64 {
	var n C.size_t
	numbers := unsafe.Slice(C.ps_llama_layout(&n), int(n))
	out := make(map[string]int64, len(numbers))
	for _, v := range numbers {
		out[C.GoString(v.name)] = int64(v.value)
	}
	return out
}

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
