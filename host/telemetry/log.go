// SPDX-License-Identifier: MIT

// Package telemetry sets up logs, metrics and traces.
package telemetry

import (
	"io"
	"log/slog"
	"os"

	"golang.org/x/term"
)

// NewLogger logs to w what is of a level at least. format is text, json, or auto: text where w is a terminal, json elsewhere. In JSON
// durations are seconds.
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

// Level is the level of a name: debug, info, warn or error. It can be changed while the program runs.
func Level(name string) *slog.LevelVar {
	var level slog.LevelVar
	_ = level.UnmarshalText([]byte(name)) // the configuration has checked it
	return &level
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
