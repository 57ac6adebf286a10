// SPDX-License-Identifier: MIT

package telemetry

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/penstock/penstock/host/diskcache"
	"github.com/penstock/penstock/host/encoder"
	"github.com/penstock/penstock/host/operation"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
)

// Metrics counts what a model's scheduler does, under vLLM's names if it has them, and under
// llama-server's.
type Metrics struct {
	registry *prometheus.Registry
	labels   prometheus.Labels
	llama    *llamaMetrics

	requestMetrics
	tickMetrics
	embeddings *embeddingVectors
}

// requestMetrics measures requests and their answers.
type requestMetrics struct {
	prompt, generated, queried, hits prometheus.Counter
	branches, beside                 prometheus.Counter
	ended                            *prometheus.CounterVec
	ttft, itl, total, queued         prometheus.Histogram
}

// tickMetrics measures the scheduler's ticks.
type tickMetrics struct {
	tick, batch *prometheus.HistogramVec
	preempted   prometheus.Counter
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

// Watch adds what is read whenever metrics are asked for: gauges from stats, the threads that
// compute, and what passes took. It is called once.
func (m *Metrics) Watch(stats func() scheduler.Stats, threads func() int, passes func() (launch, wait, copied time.Duration)) {
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
	for i, part := range []string{"launch", "wait", "copy"} {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "penstock_pass_seconds_total",
			ConstLabels: prometheus.Labels{"model_name": m.labels["model_name"], "part": part},
			Help:        "Time of forward passes, by part: launch (with what the CPU computes), wait for devices, copy of the logits from there."},
			func() float64 {
				launch, wait, copied := passes()
				return [...]time.Duration{launch, wait, copied}[i].Seconds()
			}))
	}
}

// Listener is what has a scheduler tell them.
func (m *Metrics) Listener() scheduler.Listener {
	return scheduler.Listener{Tick: m.Tick, First: m.First, Token: m.Token, Ended: m.Ended}
}

// Tick counts a tick.
func (m *Metrics) Tick(r scheduler.TickRecord) {
	m.tick.WithLabelValues("forward").Observe(r.Forward.Seconds())
	m.tick.WithLabelValues("sample").Observe(r.Sample.Seconds())
	m.tick.WithLabelValues("other").Observe((r.Total - r.Forward - r.Sample).Seconds())
	m.batch.WithLabelValues("prefill").Observe(float64(r.Prefill))
	m.batch.WithLabelValues("decode").Observe(float64(r.Decode))
	m.preempted.Add(float64(r.Preempted))
	m.llama.tick(r)
}

// First counts a first token.
func (m *Metrics) First(ttft time.Duration) { m.ttft.Observe(ttft.Seconds()) }

// Token counts a later token.
func (m *Metrics) Token(gap time.Duration) { m.itl.Observe(gap.Seconds()) }

// Ended counts a request that has ended.
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

// Server counts what concerns no model alone: requests, by route and by key, and the process.
type Server struct {
	registry *prometheus.Registry
	begun    time.Time

	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	tokens   *prometheus.CounterVec
}

// NewServer makes the metrics of a server of the given version.
func NewServer(version string) *Server {
	s := &Server{registry: prometheus.NewRegistry(), begun: time.Now()}
	s.requests = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "penstock_http_requests_total",
		Help: "Requests, by route, status and the name of the client's key."}, []string{"route", "status", "key"})
	s.seconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "penstock_http_request_seconds",
		Help: "Time of a request, by route.", Buckets: longTimes}, []string{"route"})
	s.tokens = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "penstock_client_tokens_total",
		Help: "Tokens of prompts and answers, by model, kind (prompt, generation, and branch for what programs have computed besides) and the name of the client's key."}, []string{"model_name", "kind", "key"})
	build := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "penstock_build_info", Help: "1, with the version as a label.",
		ConstLabels: prometheus.Labels{"version": version}}, func() float64 { return 1 })
	s.registry.MustRegister(s.requests, s.seconds, s.tokens, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return s
}

// Ended counts an operation. What no route takes counts as one route, since a client may make up
// as many paths as it likes.
func (s *Server) Ended(r operation.Record) {
	if r.Route == "" {
		r.Route = "none"
	}
	s.requests.WithLabelValues(r.Route, strconv.Itoa(r.Status), r.Key).Inc()
	s.seconds.WithLabelValues(r.Route).Observe(r.Took().Seconds())
	if r.Model != "" {
		prompt, _, generated := r.Tokens()
		s.tokens.WithLabelValues(r.Model, "prompt", r.Key).Add(float64(prompt))
		s.tokens.WithLabelValues(r.Model, "generation", r.Key).Add(float64(generated))
		if n := r.Beside(); n > 0 {
			s.tokens.WithLabelValues(r.Model, "branch", r.Key).Add(float64(n))
		}
	}
}

// PluginMemory adds the gauge of what all plugins at work have, which is read whenever metrics are
// asked for. It is called once.
func (s *Server) PluginMemory(used func() (bytes, limit int64)) {
	s.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "penstock_plugin_memory_bytes",
		Help: "Memory of all plugins at work, with whatever model, of at most plugins.memory."},
		func() float64 { bytes, _ := used(); return float64(bytes) }))
}

// Disk adds what the folder of conversations has and has done, which is read whenever metrics are
// asked for. It is called once.
func (s *Server) Disk(stats func() diskcache.Stats) {
	for _, v := range []struct {
		name, help string
		value      func(diskcache.Stats) int64
	}{
		{"cache_disk_files", "Conversations on the disk.", func(d diskcache.Stats) int64 { return d.Files }},
		{"cache_disk_bytes", "Bytes that they take, of at most server.cache_disk.", func(d diskcache.Stats) int64 { return d.Bytes }},
		{"cache_disk_reads_total", "Conversations read from the disk for a prompt.", func(d diskcache.Stats) int64 { return d.Read }},
		{"cache_disk_read_bytes_total", "Bytes of these.", func(d diskcache.Stats) int64 { return d.ReadBytes }},
		{"cache_disk_writes_total", "Conversations written to the disk.", func(d diskcache.Stats) int64 { return d.Wrote }},
		{"cache_disk_written_bytes_total", "Bytes of these.", func(d diskcache.Stats) int64 { return d.WroteBytes }},
		{"cache_disk_dropped_total", "Conversations that were not written for want of room or time.", func(d diskcache.Stats) int64 { return d.Dropped }},
		{"cache_disk_damaged_total", "Files that were removed since they were damaged.", func(d diskcache.Stats) int64 { return d.Damaged }},
	} {
		value := func() float64 { return float64(v.value(stats())) }
		if strings.HasSuffix(v.name, "_total") {
			s.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "penstock_" + v.name, Help: v.help}, value))
		} else {
			s.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "penstock_" + v.name, Help: v.help}, value))
		}
	}
}

// Handler answers GET /metrics, with those of the models that are loaded then. A header has the
// start of the process, as with llama-server.
func (s *Server) Handler(models func() []*Metrics) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all := prometheus.Gatherers{s.registry}
		for _, m := range models() {
			all = append(all, m.registry)
		}
		w.Header().Set("Process-Start-Time-Unix", strconv.FormatInt(s.begun.Unix(), 10))
		promhttp.HandlerFor(all, promhttp.HandlerOpts{}).ServeHTTP(w, r)
	})
}

// EmbeddingMetrics counts what gives embeddings of one kind: vectors, or scores of documents.
type EmbeddingMetrics struct {
	requests *prometheus.CounterVec
	tokens   prometheus.Counter
	pass     prometheus.Observer
	total    prometheus.Observer
}

// embeddingVectors are the metrics of all kinds.
type embeddingVectors struct {
	requests, tokens *prometheus.CounterVec
	pass, total      *prometheus.HistogramVec
}

func (m *Metrics) newEmbeddingVectors() *embeddingVectors {
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "penstock_" + name, Help: help, ConstLabels: m.labels}, labels)
	}
	v := &embeddingVectors{
		requests: counters("embedding_requests_total", "Requests for embeddings and scores that were computed or failed, by kind (embedding, rerank).", "kind", "outcome"),
		tokens:   counters("embedding_tokens_total", "Tokens computed for embeddings and scores, by kind.", "kind"),
		pass:     m.histograms("embedding_pass_seconds", "Time of a pass for embeddings, its pauses for answers included.", longTimes, "kind"),
		total:    m.histograms("embedding_request_latency_seconds", "From the request for embeddings to their end.", longTimes, "kind"),
	}
	m.registry.MustRegister(v.requests, v.tokens, v.pass, v.total)
	return v
}

// Embeddings is the observer of a kind.
func (m *Metrics) Embeddings(kind string) *EmbeddingMetrics {
	v := m.embeddings
	for _, outcome := range []string{"success", "error"} {
		v.requests.WithLabelValues(kind, outcome) // so that a rate has a beginning
	}
	return &EmbeddingMetrics{
		requests: v.requests.MustCurryWith(prometheus.Labels{"kind": kind}), tokens: v.tokens.WithLabelValues(kind),
		pass: v.pass.WithLabelValues(kind), total: v.total.WithLabelValues(kind),
	}
}

// Pass implements embedding.Observer.
func (e *EmbeddingMetrics) Pass(_, tokens int, took time.Duration) {
	e.tokens.Add(float64(tokens))
	e.pass.Observe(took.Seconds())
}

// Answered implements embedding.Observer.
func (e *EmbeddingMetrics) Answered(_ int, took time.Duration, err error) {
	outcome := "success"
	if err != nil {
		outcome = "error"
	}
	e.requests.WithLabelValues(outcome).Inc()
	e.total.Observe(took.Seconds())
}

// Media adds what the encoder of a model's pictures and sounds tells, which is read whenever
// metrics are asked for. It is called once.
func (m *Metrics) Media(stats func() encoder.Stats) {
	for name, c := range map[string]struct {
		help  string
		value func(encoder.Stats) float64
	}{
		"media_encoded_total":        {"Pictures and sounds that were encoded.", func(s encoder.Stats) float64 { return float64(s.Encoded) }},
		"media_embeddings_total":     {"Embeddings that they have become.", func(s encoder.Stats) float64 { return float64(s.Embedded) }},
		"media_encode_seconds_total": {"Time that encoding them took, with what was given up.", func(s encoder.Stats) float64 { return s.Took.Seconds() }},
		"media_cache_hits_total":     {"Pictures and sounds of requests whose embeddings were kept.", func(s encoder.Stats) float64 { return float64(s.Hits) }},
		"media_shared_total":         {"Pictures and sounds of requests that waited for the encoding of the same one.", func(s encoder.Stats) float64 { return float64(s.Shared) }},
		"media_cancelled_total":      {"Pictures and sounds that nobody waited for any more.", func(s encoder.Stats) float64 { return float64(s.Cancelled) }},
	} {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "penstock_" + name, Help: c.help, ConstLabels: m.labels},
			func() float64 { return c.value(stats()) }))
	}
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "penstock_media_waiting", ConstLabels: m.labels, Help: "Pictures and sounds that wait to be encoded, with the one that is."},
			func() float64 { return float64(stats().Waiting) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "penstock_media_cache_bytes", ConstLabels: m.labels, Help: "Memory of the embeddings that are kept."},
			func() float64 { return float64(stats().KeptBytes) }))
}

// PluginMetrics counts what plugins do.
type PluginMetrics struct {
	calls  *prometheus.HistogramVec
	faults *prometheus.CounterVec
}

// callTimes are buckets in seconds: 250 ns to 1 s.
var callTimes = prometheus.ExponentialBuckets(2.5e-7, 4, 12)

// Plugins adds the metrics of plugins. It is called once.
func (m *Metrics) Plugins() *PluginMetrics {
	p := &PluginMetrics{
		calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "penstock_plugin_call_seconds",
			Help: "Time of a call of a plugin, by plugin and exported function.", ConstLabels: m.labels, Buckets: callTimes}, []string{"plugin", "hook"}),
		faults: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "penstock_plugin_faults_total",
			Help: "Faults of plugins, by plugin and cause.", ConstLabels: m.labels}, []string{"plugin", "kind"}),
	}
	m.registry.MustRegister(p.calls, p.faults)
	return p
}

// PluginCalls returns what notes a call. The hook is the export's name without the prefix that all
// have.
func (p *PluginMetrics) PluginCalls(plugin, export string) func(took time.Duration) {
	calls := p.calls.WithLabelValues(plugin, strings.TrimPrefix(export, "penstock_"))
	return func(took time.Duration) { calls.Observe(took.Seconds()) }
}

// PluginFault notes a fault.
func (p *PluginMetrics) PluginFault(plugin, kind string) {
	p.faults.WithLabelValues(plugin, kind).Inc()
}

// InterTokenLatency is the time between two tokens of one answer, since the model was loaded: the
// upper bounds of the buckets, how many times fell into each and above the last, and their sum.
func (m *Metrics) InterTokenLatency() (bounds []time.Duration, counts []uint64, sum time.Duration) {
	h := valueOf(m.itl).GetHistogram()
	below := uint64(0)
	for _, b := range h.GetBucket() {
		bounds = append(bounds, seconds(b.GetUpperBound()))
		counts = append(counts, b.GetCumulativeCount()-below)
		below = b.GetCumulativeCount()
	}
	return bounds, append(counts, h.GetSampleCount()-below), seconds(h.GetSampleSum())
}

// PluginTotals is what one plugin has done since the model was loaded.
type PluginTotals struct {
	Calls  uint64
	Time   time.Duration // in calls
	Faults uint64
}

// Totals sums up the calls of each plugin that was called, by name.
func (p *PluginMetrics) Totals() map[string]PluginTotals {
	all := map[string]PluginTotals{}
	eachMetric(p.calls, func(m *dto.Metric) {
		t := all[pluginOf(m)]
		t.Calls += m.GetHistogram().GetSampleCount()
		t.Time += seconds(m.GetHistogram().GetSampleSum())
		all[pluginOf(m)] = t
	})
	eachMetric(p.faults, func(m *dto.Metric) {
		t := all[pluginOf(m)]
		t.Faults += uint64(m.GetCounter().GetValue())
		all[pluginOf(m)] = t
	})
	return all
}

// eachMetric reads all metrics of a vector.
func eachMetric(c prometheus.Collector, f func(*dto.Metric)) {
	out := make(chan prometheus.Metric)
	go func() {
		c.Collect(out)
		close(out)
	}()
	for m := range out {
		f(valueOf(m))
	}
}

// valueOf reads a metric, or a histogram, which is one.
func valueOf(m any) *dto.Metric {
	var value dto.Metric
	if m, ok := m.(prometheus.Metric); ok {
		_ = m.Write(&value) // those of this package do not fail
	}
	return &value
}

func pluginOf(m *dto.Metric) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == "plugin" {
			return l.GetValue()
		}
	}
	return ""
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// llamaMetrics are llama-server's own metrics, under its names, so that dashboards made for it
// work. Of those of speculative decoding, there are none by position.
type llamaMetrics struct {
	stats func() scheduler.Stats

	mu                     sync.Mutex
	prompt, predict, cache float64 // tokens
	promptTime             time.Duration
	predictTime            time.Duration
	drafted, accepted      float64
	drafts                 float64
	passes, busy           int // busy counts the slots in use in each pass
	longest                int // tokens of prompt and answer
	window                 window
}

// window is what was computed since the metrics were last asked for.
type window struct {
	prompt, predict         float64
	promptTime, predictTime time.Duration
}

// llamaMetric is one of them: its name, what it is and its value.
type llamaMetric struct {
	name, help string
	kind       prometheus.ValueType
	value      func(m *llamaMetrics, w window, s scheduler.Stats) float64
}

var llamaTable = []llamaMetric{
	{"prompt_tokens_total", "Prompt tokens computed, without those found in the cache.", prometheus.CounterValue,
		func(m *llamaMetrics, _ window, _ scheduler.Stats) float64 { return m.prompt }},
	{"prompt_tokens_cached_total", "Prompt tokens found in the cache.", prometheus.CounterValue,
		func(m *llamaMetrics, _ window, _ scheduler.Stats) float64 { return m.cache }},
	{"prompt_seconds_total", "Time of prompts.", prometheus.CounterValue,
		func(m *llamaMetrics, _ window, _ scheduler.Stats) float64 { return m.promptTime.Seconds() }},
	{"tokens_predicted_total", "Tokens generated.", prometheus.CounterValue,
		func(m *llamaMetrics, _ window, _ scheduler.Stats) float64 { return m.predict }},
	{"tokens_predicted_seconds_total", "Time of answers.", prometheus.CounterValue,
		func(m *llamaMetrics, _ window, _ scheduler.Stats) float64 { return m.predictTime.Seconds() }},
	{"n_decode_total", "Forward passes.", prometheus.CounterValue,
		func(m *llamaMetrics, _ window, _ scheduler.Stats) float64 { return float64(m.passes) }},
	{"n_tokens_max", "Tokens of the longest prompt with its answer.", prometheus.CounterValue,
		func(m *llamaMetrics, _ window, _ scheduler.Stats) float64 { return float64(m.longest) }},
	{"spec_decode_num_draft_tokens_total", "Tokens that were guessed and computed.", prometheus.CounterValue,
		func(m *llamaMetrics, _ window, _ scheduler.Stats) float64 { return m.drafted }},
	{"spec_decode_num_accepted_tokens_total", "Guessed tokens that became part of answers.", prometheus.CounterValue,
		func(m *llamaMetrics, _ window, _ scheduler.Stats) float64 { return m.accepted }},
	{"spec_decode_num_drafts_total", "Guesses of one or more tokens.", prometheus.CounterValue,
		func(m *llamaMetrics, _ window, _ scheduler.Stats) float64 { return m.drafts }},
	{"prompt_tokens_seconds", "Prompt tokens a second, of requests that ended since this was last asked for.", prometheus.GaugeValue,
		func(_ *llamaMetrics, w window, _ scheduler.Stats) float64 { return perSecond(w.prompt, w.promptTime) }},
	{"predicted_tokens_seconds", "Generated tokens a second, likewise.", prometheus.GaugeValue,
		func(_ *llamaMetrics, w window, _ scheduler.Stats) float64 { return perSecond(w.predict, w.predictTime) }},
	{"requests_processing", "Requests in a slot.", prometheus.GaugeValue,
		func(_ *llamaMetrics, _ window, s scheduler.Stats) float64 { return float64(s.Running) }},
	{"requests_deferred", "Requests in the queue.", prometheus.GaugeValue,
		func(_ *llamaMetrics, _ window, s scheduler.Stats) float64 { return float64(s.Waiting) }},
	{"n_busy_slots_per_decode", "Slots in use, on average over the forward passes.", prometheus.GaugeValue,
		func(m *llamaMetrics, _ window, _ scheduler.Stats) float64 {
			return float64(m.busy) / float64(max(1, m.passes))
		}},
}

func perSecond(n float64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return n / d.Seconds()
}

// Describe implements prometheus.Collector.
func (m *llamaMetrics) Describe(out chan<- *prometheus.Desc) { prometheus.DescribeByCollect(m, out) }

// Collect implements prometheus.Collector. It begins a new window.
func (m *llamaMetrics) Collect(out chan<- prometheus.Metric) {
	var s scheduler.Stats
	if m.stats != nil {
		s = m.stats()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.window
	m.window = window{}
	for _, e := range llamaTable {
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc("llamacpp:"+e.name, e.help, nil, nil), e.kind, e.value(m, w, s))
	}
}

func (m *llamaMetrics) tick(r scheduler.TickRecord) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drafted += float64(r.Drafted)
	m.accepted += float64(r.Accepted)
	m.drafts += float64(r.Drafts)
	m.passes += r.Passes
	m.busy += r.Passes * r.Running
}

func (m *llamaMetrics) ended(r scheduler.RequestRecord) {
	m.mu.Lock()
	defer m.mu.Unlock()
	computed, generated := float64(r.Usage.Prompt-r.Usage.Cached), float64(r.Usage.Generated)
	m.prompt += computed
	m.cache += float64(r.Usage.Cached)
	m.predict += generated
	m.promptTime += r.Timing.Prefill
	m.predictTime += r.Timing.Decode
	m.longest = max(m.longest, r.Usage.Prompt+r.Usage.Generated)
	m.window.prompt += computed
	m.window.predict += generated
	m.window.promptTime += r.Timing.Prefill
	m.window.predictTime += r.Timing.Decode
}

// Picked is where the metrics for endpoint pickers come from.
type Picked struct {
	Load     func(context.Context) (scheduler.Load, error)
	Adapters func() int                // LoRA adapters that are loaded
	Names    func(key string) []string // of a set of adapters; none: it is not known any more
}

// pickerMetrics are those that the endpoint picker of the Gateway API Inference Extension reads,
// under vLLM's names, which it expects unless it is told others.
type pickerMetrics struct{ Picked }

// pickerPatience is how long metrics wait for a scheduler that nobody has asked before; the rest
// of them is told without it.
const pickerPatience = 2 * time.Second

var (
	pickerRunning = pickerDesc("num_requests_running", "Requests in a slot.")
	pickerWaiting = pickerDesc("num_requests_waiting", "Requests in the queue.")
	pickerUsage   = pickerDesc("kv_cache_usage_perc", "KV cells that requests hold, from 0 to 1. Cells of idle conversations are free to be taken and do not count.")
	pickerBlocks  = pickerDesc("cache_config_info", "1, with the tokens of a block of prefix digests, and how many such blocks the KV cache has.", "block_size", "num_gpu_blocks")
	pickerLora    = pickerDesc("lora_requests_info", "The present time, with the LoRA adapters that running and waiting requests have, and how many are loaded.",
		"max_lora", "running_lora_adapters", "waiting_lora_adapters")
)

func pickerDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("vllm:"+name, help, labels, nil)
}

// Picker adds the metrics for endpoint pickers. It is called once.
func (m *Metrics) Picker(p Picked) {
	prometheus.WrapRegistererWith(m.labels, m.registry).MustRegister(pickerMetrics{p})
}

// Describe implements prometheus.Collector.
func (pickerMetrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{pickerRunning, pickerWaiting, pickerUsage, pickerBlocks, pickerLora} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (m pickerMetrics) Collect(out chan<- prometheus.Metric) {
	ctx, stop := context.WithTimeout(context.Background(), pickerPatience)
	defer stop()
	l, err := m.Load(ctx)
	if err != nil {
		return // the model is being unloaded
	}
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	gauge(pickerRunning, float64(l.Running))
	gauge(pickerWaiting, float64(l.Waiting))
	gauge(pickerUsage, float64(l.CellsUsed-l.CellsCached)/float64(max(l.Cells, 1)))
	gauge(pickerBlocks, 1, strconv.Itoa(kvcache.BlockTokens), strconv.Itoa(l.Cells/kvcache.BlockTokens))
	running := m.names(l.Adapters, func(a scheduler.AdapterLoad) int { return a.Running })
	waiting := m.names(l.Adapters, func(a scheduler.AdapterLoad) int { return a.Waiting })
	gauge(pickerLora, float64(time.Now().Unix()), strconv.Itoa(m.Adapters()), running, waiting)
}

// names lists the adapters of the sets that some requests have.
func (m pickerMetrics) names(sets []scheduler.AdapterLoad, requests func(scheduler.AdapterLoad) int) string {
	var names []string
	for _, a := range sets {
		if requests(a) > 0 {
			names = append(names, m.Names(a.Key)...)
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ",")
}
