// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
// extern void penstockLog(int32_t level, char *line, size_t size);
import "C"

import (
	"context"
	"log/slog"
	"sync/atomic"
)

var logger atomic.Pointer[slog.Logger]

func init() {
	C.ps_start(C.ps_log_fn(C.penstockLog))
	SetLogger(slog.New(slog.DiscardHandler))
}

// levels are slog's for ggml's. What ggml calls information is a hundred lines a model, of use when debugging only.
var levels = [...]slog.Level{1: slog.LevelDebug, 2: slog.LevelDebug, 3: slog.LevelWarn, 4: slog.LevelError}

// SetLogger sends the lines llama.cpp logs to l. Until it is called they go nowhere. Lines below the lowest level that
// l has enabled now are dropped in C.
func SetLogger(l *slog.Logger) {
	logger.Store(l)
	lowest := len(levels)
	for i := len(levels) - 1; i > 0; i-- {
		if l.Enabled(context.Background(), levels[i]) {
			lowest = i
		}
	}
	C.ps_log_level(C.int32_t(lowest))
}

//export penstockLog
func penstockLog(level C.int32_t, line *C.char, size C.size_t) {
	i := min(max(int(level), 1), len(levels)-1)
	logger.Load().Log(context.Background(), levels[i], C.GoStringN(line, C.int(size)), "source", "llama.cpp")
}
