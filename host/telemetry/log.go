// SPDX-License-Identifier: MIT

// Package telemetry sets up logs, metrics and traces.
//
// # Why are traces made when a request has ended?
//
// host/operation notes what each request did, for the log, the rate limits, the metrics and
// traces alike, and each is told once, at the end. A span needs nothing before that: nobody
// further down continues it. So tracing adds nothing to a request's way, whether it is on or off.
//
// # Why are traces not kept by default?
//
// Each is about 5 KB of JSON, the native samplers run one by one for it, and the answer needs a
// background sampler. That is nothing for a look at one answer, and too much for all. The page asks
// for an answer again, with the same seed, when somebody wants to look into one that has no trace.
package telemetry

import (
	"io"
	"log/slog"
	"os"

	"golang.org/x/term"
)

// NewLogger logs to w what is of a level at least. format is text, json, or auto: text where w is
// a terminal, json elsewhere. In JSON durations are seconds.
func NewLogger(w io.Writer, level slog.Leveler, format string) *slog.Logger {
	o := &slog.HandlerOptions{Level: level}
	if format == "text" || (format != "json" && isTerminal(w)) {
		return slog.New(slog.NewTextHandler(w, o))
	}
	o.ReplaceAttr = func(_ []string, a slog.Attr) slog.Attr {
		if a.Value.Kind() == slog.KindDuration {
			a.Value = slog.Float64Value(a.Value.Duration().Seconds())
		}
		return a
	}
	return slog.New(slog.NewJSONHandler(w, o))
}

// Level is the level of a name: debug, info, warn or error. It can be changed while the program
// runs.
func Level(name string) *slog.LevelVar {
	var level slog.LevelVar
	_ = level.UnmarshalText([]byte(name)) // the configuration has checked it
	return &level
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
