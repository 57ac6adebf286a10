// SPDX-License-Identifier: MIT

package native

// #cgo CFLAGS: -I${SRCDIR}/../build/llama.cpp/out/include -I${SRCDIR}/llama.cpp/shim
// #cgo LDFLAGS: -L${SRCDIR}/../build/llama.cpp/out/lib -lpenstock_llama -lm -lpthread
// #cgo linux LDFLAGS: -lstdc++ -ldl
// #cgo darwin LDFLAGS: -lc++
// #include "penstock.h"
// extern void penstockLog(int32_t level, char *line, size_t size);
import "C"

import (
	"context"
	"log/slog"
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
