// SPDX-License-Identifier: MIT

package telemetry

import (
	"context"
	"log/slog"
	"testing"
)

// clearEnvironment makes a test independent of the OTEL_ variables that it runs under.
func clearEnvironment(t *testing.T) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER", "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES"} {
		t.Setenv(name, "")
	}
}

func TestNewTraces_OnlyWhereAskedFor(t *testing.T) {
	for name, tc := range map[string]struct {
		endpoint string
		env      map[string]string
		want     bool
	}{
		"nothing":         {"", nil, false},
		"key":             {"http://127.0.0.1:1", nil, true},
		"environment":     {"", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, true},
		"traces alone":    {"", map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1/v1/traces"}, true},
		"disabled":        {"http://127.0.0.1:1", map[string]string{"OTEL_SDK_DISABLED": "true"}, false},
		"none by exports": {"", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			clearEnvironment(t)
			for k, v := range tc.env {
				t.Setenv(k, v)
			}
			traces, err := NewTraces(t.Context(), tc.endpoint, "1", slog.New(slog.DiscardHandler))
			if err != nil || (traces != nil) != tc.want {
				t.Fatalf("%v %v", traces, err)
			}
			if traces != nil {
				if err := traces.Close(context.Background()); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestOperationName(t *testing.T) {
	for route, want := range map[string]string{
		"/v1/chat/completions": "chat", "/chat/completions": "chat", "/v1/messages": "chat", "/api/chat": "chat", "/v1/responses": "chat", "/v1/ws generate": "chat",
		"/v1/completions": "text_completion", "/completion": "text_completion", "/completions": "text_completion", "/api/generate": "text_completion",
		"/infill": "text_completion", "/v1/embeddings": "embeddings", "/embedding": "embeddings", "/api/embed": "embeddings", "/v1/rerank": "rerank",
	} {
		if got := operationName(route); got != want {
			t.Errorf("%s: %s, want %s", route, got, want)
		}
	}
}
