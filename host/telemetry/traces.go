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
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/penstock/penstock/host/operation"
	"github.com/penstock/penstock/scheduler"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
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

// Traces sends a span for each request that the model worked on to an OpenTelemetry collector,
// with a child for its time in the queue, for its prompt and for its answer. They are made when
// the request has ended, so that they cost the request nothing.
type Traces struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

// NewTraces sets up traces. The endpoint is a collector's address, to which /v1/traces is added;
// empty: what the environment has in OTEL_EXPORTER_OTLP_ENDPOINT or
// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT. If that is empty too, there are no traces, and it returns
// nil. All other OTEL_ variables (headers, sampler, service name and so on) hold as OpenTelemetry
// has it.
func NewTraces(ctx context.Context, endpoint, version string, log *slog.Logger) (*Traces, error) {
	if off := os.Getenv("OTEL_SDK_DISABLED"); strings.EqualFold(off, "true") || endpoint == "" && !environmentHasCollector() {
		return nil, nil
	}
	var options []otlptracehttp.Option
	if endpoint != "" {
		address, err := url.JoinPath(endpoint, "v1/traces")
		if err != nil {
			return nil, fmt.Errorf("send traces to %s (telemetry.otlp_endpoint): %w", endpoint, err)
		}
		options = append(options, otlptracehttp.WithEndpointURL(address))
	}
	exporter, err := otlptracehttp.New(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("send traces (telemetry.otlp_endpoint): %w", err)
	}
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "penstock"), attribute.String("service.version", version)),
		resource.WithHost(), resource.WithTelemetrySDK(), resource.WithFromEnv()) // the last wins
	if err != nil {
		return nil, fmt.Errorf("describe this service for traces: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces could not be sent", slog.Any("error", err)) }))
	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about))
	return &Traces{provider, provider.Tracer("github.com/penstock/penstock", trace.WithInstrumentationVersion(version))}, nil
}

func environmentHasCollector() bool {
	return os.Getenv("OTEL_TRACES_EXPORTER") != "none" &&
		(os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != "")
}

// Close sends what is left, until ctx is done.
func (t *Traces) Close(ctx context.Context) error { return t.provider.Shutdown(ctx) }

// Ended makes the spans of an operation. It takes over the trace that the client has begun, by the
// header traceparent.
func (t *Traces) Ended(r operation.Record) {
	if r.Model == "" { // nothing was computed: the log and the metrics tell enough
		return
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.HeaderCarrier(r.Header))
	ctx, span := t.tracer.Start(ctx, operationName(r.Route)+" "+r.Model, trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(r.Begin),
		trace.WithAttributes(attributes(&r)...))
	if r.Status >= 500 {
		span.SetStatus(codes.Error, fmt.Sprint(r.Err))
	}
	for _, a := range r.Answers {
		answerSpans(ctx, t.tracer, a)
	}
	span.End(trace.WithTimestamp(r.Last()))
}

// Spans is a listener that makes the same children, below the span that a request's context has,
// for programs that have a scheduler without a server. The tracer is one that does not wait for
// spans to be sent.
func Spans(tracer trace.Tracer) scheduler.Listener {
	return scheduler.Listener{Ended: func(r scheduler.RequestRecord) {
		answerSpans(r.Context, tracer, operation.AnswerRecord{RequestRecord: r, End: time.Now()})
	}}
}

// answerSpans makes the children of one answer, which follow each other.
func answerSpans(ctx context.Context, tracer trace.Tracer, a operation.AnswerRecord) {
	begin := a.End.Add(-a.Total)
	part := func(name string, took time.Duration, about ...attribute.KeyValue) {
		_, span := tracer.Start(ctx, name, trace.WithTimestamp(begin), trace.WithAttributes(about...))
		begin = begin.Add(took)
		span.End(trace.WithTimestamp(begin))
	}
	part("queue", a.Timing.Queued)
	if a.Timing.Prefill > 0 {
		part("prefill", a.Timing.Prefill, attribute.Int("penstock.prompt_tokens", a.Usage.Prompt), attribute.Int("penstock.cached_tokens", a.Usage.Cached))
	}
	if a.Usage.Generated > 0 {
		about := []attribute.KeyValue{attribute.Int("penstock.generated_tokens", a.Usage.Generated), attribute.String("penstock.finish_reason", a.Reason.String())}
		part("decode", a.Timing.Decode, append(about, programOf(a.Usage)...)...)
	}
}

// programOf is what a program has cost that wrote an answer; nothing for any other.
func programOf(u scheduler.Usage) []attribute.KeyValue {
	if u.Opened == 0 {
		return nil
	}
	return []attribute.KeyValue{attribute.Int("penstock.program_branches", u.Opened), attribute.Int("penstock.branch_tokens", u.Beside())}
}

// operationName is a well-known value of gen_ai.operation.name, by the end of a route.
func operationName(route string) string {
	switch {
	case strings.Contains(route, "embed"):
		return "embeddings"
	case strings.Contains(route, "rerank"):
		return "rerank"
	case strings.HasSuffix(route, "/completions") && !strings.HasSuffix(route, "/chat/completions"), strings.HasSuffix(route, "/completion"),
		strings.HasSuffix(route, "/generate"), strings.HasSuffix(route, "/infill"):
		return "text_completion"
	}
	return "chat"
}

// attributes follow OpenTelemetry's conventions for generative AI and for HTTP.
func attributes(r *operation.Record) []attribute.KeyValue {
	prompt, cached, generated := r.Tokens()
	reasons := make([]string, len(r.Answers))
	for i, a := range r.Answers {
		reasons[i] = a.Reason.String()
	}
	all := []attribute.KeyValue{
		attribute.String("gen_ai.operation.name", operationName(r.Route)), attribute.String("gen_ai.provider.name", "penstock"),
		attribute.String("gen_ai.response.model", r.Model), attribute.StringSlice("gen_ai.response.finish_reasons", reasons),
		attribute.Int("gen_ai.usage.input_tokens", prompt), attribute.Int("gen_ai.usage.cache_read.input_tokens", cached),
		attribute.Int("gen_ai.usage.output_tokens", generated),
		attribute.String("http.request.method", r.Method), attribute.String("http.route", r.Route), attribute.String("url.path", r.Path),
		attribute.Int("http.response.status_code", r.Status), attribute.String("client.address", r.Address), attribute.String("penstock.request_id", r.ID),
	}
	if r.Key != "" {
		all = append(all, attribute.String("enduser.id", r.Key))
	}
	if r.Status >= 400 {
		all = append(all, attribute.String("error.type", fmt.Sprint(r.Status)))
	}
	return all
}
