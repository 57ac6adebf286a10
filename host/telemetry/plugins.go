// SPDX-License-Identifier: MIT

package telemetry

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

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
