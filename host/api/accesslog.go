// SPDX-License-Identifier: MIT

package api

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/penstock/penstock/host/operation"
)

// logOperation writes the line of the access log for an operation that has ended. It has no text
// of prompts or answers. Probes and files are of interest when debugging only.
func (s *service) logOperation(r operation.Record) {
	level := slog.LevelInfo
	if r.Method == http.MethodGet && len(r.Answers) == 0 && r.Path != "/v1/ws" {
		level = slog.LevelDebug
	}
	if r.Status >= http.StatusInternalServerError && r.Status != http.StatusServiceUnavailable {
		level = slog.LevelError
	}
	attrs := []slog.Attr{
		slog.String("id", r.ID), slog.String("method", r.Method), slog.String("path", r.Path), slog.String("route", r.Route),
		slog.Int("status", r.Status), slog.Int64("bytes", r.Bytes), slog.Duration("took", r.Took().Round(time.Microsecond)),
		slog.String("client", r.Address),
	}
	if r.Key != "" {
		attrs = append(attrs, slog.String("key", r.Key))
	}
	if len(r.Answers) > 0 {
		prompt, cached, generated := r.Tokens()
		attrs = append(attrs, slog.String("model", r.Model), slog.Int("prompt_tokens", prompt), slog.Int("cached_tokens", cached),
			slog.Int("completion_tokens", generated), slog.Duration("queued", r.Answers[0].Timing.Queued.Round(time.Microsecond)))
	}
	if len(r.Relaxed) > 0 {
		attrs = append(attrs, slog.Any("schema_relaxed", r.Relaxed))
	}
	if r.Err != nil {
		attrs = append(attrs, slog.String("error", r.Err.Error()))
	}
	s.Log.LogAttrs(context.Background(), level, "request", attrs...)
}
