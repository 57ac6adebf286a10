// SPDX-License-Identifier: MIT

package telemetry

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/penstock/penstock/host/operation"
)

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
