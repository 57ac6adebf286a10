// SPDX-License-Identifier: MIT

package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/penstock/penstock/host/encoder"
)

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
