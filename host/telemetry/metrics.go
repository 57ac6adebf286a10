// SPDX-License-Identifier: MIT

package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
)

// Metrics counts what a model's scheduler does, under vLLM's names if it has them, and under
// llama-server's. It is a scheduler.Observer.
type Metrics struct {
	registry *prometheus.Registry
	labels   prometheus.Labels
	llama    *llamaMetrics

	prompt, generated, queried, hits prometheus.Counter
	branches, beside, preempted      prometheus.Counter
	ended                            *prometheus.CounterVec
	ttft, itl, total, queued         prometheus.Histogram
	tick, batch                      *prometheus.HistogramVec
	embeddings                       *embeddingVectors
}

// Buckets of the histograms: seconds, or tokens.
var (
	shortTimes = prometheus.ExponentialBuckets(0.001, 2, 14) // 1 ms to 8 s
	longTimes  = prometheus.ExponentialBuckets(0.005, 2, 17) // 5 ms to 5 min
	tickTimes  = prometheus.ExponentialBuckets(1e-5, 4, 11)  // 10 µs to 10 s
	tokenSizes = prometheus.ExponentialBuckets(1, 2, 13)     // 1 to 4,096
)

// NewMetrics makes the metrics of one model.
func NewMetrics(model string) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), labels: prometheus.Labels{"model_name": model}, llama: &llamaMetrics{}}
	m.prompt = m.counter("prompt_tokens_total", "Tokens of the prompts of requests that ended.")
	m.generated = m.counter("generation_tokens_total", "Tokens generated for requests that ended.")
	m.queried = m.counter("prefix_cache_queries_total", "Prompt tokens looked up in the KV cache.")
	m.branches = m.counter("program_branches_total", "Branches that programs have opened in requests that ended.")
	m.beside = m.counter("branch_tokens_total", "Tokens that programs have had computed in requests that ended, besides those of prompts and answers.")
	m.preempted = m.counter("num_preemptions_total", "Slots taken from requests, which go on later.")
	m.hits = m.counter("prefix_cache_hits_total", "Prompt tokens found in the KV cache.")
	m.ended = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "penstock_request_success_total",
		Help: "Requests that ended, by why.", ConstLabels: m.labels}, []string{"finished_reason"})
	m.ttft = m.histogram("time_to_first_token_seconds", "From submission to the first token.", longTimes)
	m.itl = m.histogram("inter_token_latency_seconds", "Between two tokens of one answer.", shortTimes)
	m.total = m.histogram("e2e_request_latency_seconds", "From submission to the end.", longTimes)
	m.queued = m.histogram("request_queue_time_seconds", "From submission to a slot.", longTimes)
	m.tick = m.histograms("tick_seconds", "Time of a tick, by phase: forward, sample, other.", tickTimes, "phase")
	m.batch = m.histograms("batch_tokens", "Tokens in a tick, by kind: prefill, decode.", tokenSizes, "kind")
	m.registry.MustRegister(m.prompt, m.generated, m.queried, m.hits, m.branches, m.beside, m.preempted, m.ended, m.ttft, m.itl, m.total, m.queued, m.tick, m.batch)
	prometheus.WrapRegistererWith(m.labels, m.registry).MustRegister(m.llama)
	m.embeddings = m.newEmbeddingVectors()
	for _, r := range []answer.Reason{answer.ReasonStop, answer.ReasonLength, answer.ReasonCancelled, answer.ReasonError} {
		m.ended.WithLabelValues(r.String()) // so that a rate has a beginning
	}
	return m
}

func (m *Metrics) counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: "penstock_" + name, Help: help, ConstLabels: m.labels})
}

func (m *Metrics) histogram(name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: "penstock_" + name, Help: help, ConstLabels: m.labels, Buckets: buckets})
}

func (m *Metrics) histograms(name, help string, buckets []float64, label string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "penstock_" + name, Help: help, ConstLabels: m.labels, Buckets: buckets},
		[]string{label})
}

// Watch adds the gauges, which are read whenever metrics are asked for: from stats, and the
// threads that compute. It is called once.
func (m *Metrics) Watch(stats func() scheduler.Stats, threads func() int) {
	m.llama.stats = stats
	for name, g := range map[string]struct {
		help  string
		value func(scheduler.Stats) float64
	}{
		"num_requests_running": {"Requests in a slot.", func(s scheduler.Stats) float64 { return float64(s.Running) }},
		"num_requests_waiting": {"Requests in the queue.", func(s scheduler.Stats) float64 { return float64(s.Waiting) }},
		"kv_cache_usage_ratio": {"KV cells in use.", func(s scheduler.Stats) float64 { return float64(s.CellsUsed) / float64(max(s.Cells, 1)) }},
	} {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "penstock_" + name, Help: g.help, ConstLabels: m.labels},
			func() float64 { return g.value(stats()) }))
	}
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "penstock_threads", ConstLabels: m.labels,
		Help: "Threads that compute forward passes; fewer while other programs take the processors."},
		func() float64 { return float64(threads()) }))
}

// Tick implements scheduler.Observer.
func (m *Metrics) Tick(r scheduler.TickRecord) {
	m.tick.WithLabelValues("forward").Observe(r.Forward.Seconds())
	m.tick.WithLabelValues("sample").Observe(r.Sample.Seconds())
	m.tick.WithLabelValues("other").Observe((r.Total - r.Forward - r.Sample).Seconds())
	m.batch.WithLabelValues("prefill").Observe(float64(r.Prefill))
	m.batch.WithLabelValues("decode").Observe(float64(r.Decode))
	m.preempted.Add(float64(r.Preempted))
	m.llama.tick(r)
}

// First implements scheduler.Observer.
func (m *Metrics) First(ttft time.Duration) { m.ttft.Observe(ttft.Seconds()) }

// Token implements scheduler.Observer.
func (m *Metrics) Token(gap time.Duration) { m.itl.Observe(gap.Seconds()) }

// Ended implements scheduler.Observer.
func (m *Metrics) Ended(r scheduler.RequestRecord) {
	m.ended.WithLabelValues(r.Reason.String()).Inc()
	m.prompt.Add(float64(r.Usage.Prompt))
	m.generated.Add(float64(r.Usage.Generated))
	m.queried.Add(float64(r.Usage.Prompt))
	m.hits.Add(float64(r.Usage.Cached))
	m.branches.Add(float64(r.Usage.Opened))
	m.beside.Add(float64(r.Usage.Beside()))
	m.total.Observe(r.Total.Seconds())
	m.queued.Observe(r.Timing.Queued.Seconds())
	m.llama.ended(r)
}
