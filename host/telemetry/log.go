// SPDX-License-Identifier: MIT

// Package telemetry sets up logs and metrics.
package telemetry

import (
	"io"
	"log/slog"
	"os"

	"golang.org/x/term"
)

// NewLogger logs to w. level is debug, info, warn or error; format is text, json, or auto: text where w is a terminal,
// json elsewhere.
func NewLogger(w io.Writer, level, format string) *slog.Logger {
	var least slog.Level
	if least.UnmarshalText([]byte(level)) != nil {
		least = slog.LevelInfo // configuration has checked it
	}
	o := &slog.HandlerOptions{Level: least}
	if format == "text" || (format != "json" && isTerminal(w)) {
		return slog.New(slog.NewTextHandler(w, o))
	}
	return slog.New(slog.NewJSONHandler(w, o))
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
