// SPDX-License-Identifier: MIT

package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

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

// Totals are those of all plugins that were called, by name.
func (p *PluginMetrics) Totals() map[string]PluginTotals {
	all := map[string]PluginTotals{}
	each(p.calls, func(m *dto.Metric) {
		t := all[pluginOf(m)]
		t.Calls += m.GetHistogram().GetSampleCount()
		t.Time += seconds(m.GetHistogram().GetSampleSum())
		all[pluginOf(m)] = t
	})
	each(p.faults, func(m *dto.Metric) {
		t := all[pluginOf(m)]
		t.Faults += uint64(m.GetCounter().GetValue())
		all[pluginOf(m)] = t
	})
	return all
}

// each reads all metrics of a vector.
func each(c prometheus.Collector, f func(*dto.Metric)) {
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
