// SPDX-License-Identifier: MIT

package server

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/penstock/penstock/host/operation"
	"github.com/penstock/penstock/host/telemetry"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/tools/must"
)

// receiver is a collector that keeps what it is sent.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	spans    []*otlp.Span
	resource map[string]string
	header   http.Header
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(w http.ResponseWriter, q *http.Request) {
		var request collector.ExportTraceServiceRequest
		body, err := io.ReadAll(q.Body)
		if err := errors.Join(err, proto.Unmarshal(body, &request)); err != nil {
			t.Error(err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.header = q.Header
		for _, of := range request.ResourceSpans {
			r.resource = texts(of.Resource.Attributes)
			for _, scope := range of.ScopeSpans {
				r.spans = append(r.spans, scope.Spans...)
			}
		}
	})
	r.Server = httptest.NewServer(mux)
	t.Cleanup(r.Close)
	return r
}

// texts are attributes as texts.
func texts(attributes []*common.KeyValue) map[string]string {
	out := map[string]string{}
	for _, a := range attributes {
		if s, ok := a.Value.Value.(*common.AnyValue_StringValue); ok {
			out[a.Key] = s.StringValue
			continue
		}
		out[a.Key] = strings.ReplaceAll(a.Value.String(), "  ", " ")
	}
	return out
}

// clearEnvironment makes a test independent of the OTEL_ variables that it runs under.
func clearEnvironment(t *testing.T) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER", "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES"} {
		t.Setenv(name, "")
	}
}

// One request is one span in the client's trace, with a child for each thing that took its time.
func TestTraces_Ended_SpansOfOneRequest(t *testing.T) {
	clearEnvironment(t)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-team=green")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
	r := newReceiver(t)
	traces := must.Get(telemetry.NewTraces(t.Context(), r.URL, "1.2", slog.New(slog.DiscardHandler)))(t)
	begin := time.Unix(1e9, 0)
	header := http.Header{"Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}
	traces.Ended(operation.Record{
		ID: "r1", Method: "POST", Route: "/v1/chat/completions", Path: "/v1/chat/completions", Header: header, Address: "192.0.2.7", Key: "alice", Model: "tiny",
		Begin: begin, End: begin.Add(4 * time.Second), Status: 200,
		Answers: []operation.AnswerRecord{{End: begin.Add(4 * time.Second), RequestRecord: scheduler.RequestRecord{
			Reason: answer.ReasonLength, Usage: scheduler.Usage{Prompt: 10, Cached: 4, Generated: 5}, Total: 3500 * time.Millisecond,
			Timing: scheduler.Timing{Queued: time.Second, Prefill: 500 * time.Millisecond, Decode: 2 * time.Second}}}},
	})
	traces.Ended(operation.Record{Route: "/v1/models", Begin: begin, End: begin}) // the model has not worked
	must.Do(t, traces.Close(t.Context()))
	if r.resource["service.name"] != "penstock" || r.resource["service.version"] != "1.2" || r.resource["deployment.environment.name"] != "test" || r.header.Get("X-Team") != "green" {
		t.Errorf("resource %v, header %v", r.resource, r.header)
	}
	type span struct {
		From, To time.Duration
		Parent   string
	}
	got := map[string]span{}
	var root *otlp.Span
	for _, s := range r.spans {
		if s.Kind == otlp.Span_SPAN_KIND_SERVER {
			root = s
		}
	}
	if root == nil {
		t.Fatalf("no span of the request in %v", r.spans)
	}
	for _, s := range r.spans {
		parent := "client"
		if bytes.Equal(s.ParentSpanId, root.SpanId) {
			parent = "request"
		}
		since := func(nanos uint64) time.Duration { return time.Unix(0, int64(nanos)).Sub(begin) }
		got[s.Name] = span{since(s.StartTimeUnixNano), since(s.EndTimeUnixNano), parent}
		if hex.EncodeToString(s.TraceId) != "0af7651916cd43dd8448eb211c80319c" {
			t.Errorf("%s is in trace %x", s.Name, s.TraceId)
		}
	}
	want := map[string]span{
		"chat tiny": {0, 4 * time.Second, "client"},
		"queue":     {500 * time.Millisecond, 1500 * time.Millisecond, "request"},
		"prefill":   {1500 * time.Millisecond, 2 * time.Second, "request"},
		"decode":    {2 * time.Second, 4 * time.Second, "request"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if hex.EncodeToString(root.ParentSpanId) != "b7ad6b7169203331" {
		t.Errorf("the parent is %x", root.ParentSpanId)
	}
	about := texts(root.Attributes)
	for name, value := range map[string]string{
		"gen_ai.operation.name": "chat", "gen_ai.response.model": "tiny", "gen_ai.usage.input_tokens": "int_value:10", "gen_ai.usage.output_tokens": "int_value:5",
		"http.route": "/v1/chat/completions", "http.response.status_code": "int_value:200", "enduser.id": "alice", "penstock.request_id": "r1",
	} {
		if about[name] != value {
			t.Errorf("%s is %q, want %q", name, about[name], value)
		}
	}
}
