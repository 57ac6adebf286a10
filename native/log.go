// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
// extern void penstockLog(int32_t level, char *line, size_t size);
import "C"

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
)

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
