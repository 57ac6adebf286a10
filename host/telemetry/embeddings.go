// SPDX-License-Identifier: MIT

package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

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
