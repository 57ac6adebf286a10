// SPDX-License-Identifier: MIT

package host

import (
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/residency"
)

// measures are what the metrics of a core have counted.
type measures struct{ *Core }

var _ completion.Measures = measures{}

// InterTokenLatency implements completion.Measures.
func (m measures) InterTokenLatency() completion.Histogram {
	bounds, counts, sum := m.Metrics.InterTokenLatency()
	return completion.Histogram{Bounds: bounds, Counts: counts, Sum: sum}
}

// Plugins implements completion.Measures.
func (m measures) Plugins() []completion.PluginMeasures {
	totals := m.plugins.metrics.Totals()
	var all []completion.PluginMeasures
	for _, i := range m.plugins.registry.List() {
		t := totals[i.Name]
		all = append(all, completion.PluginMeasures{Name: i.Name, State: string(i.State), Calls: t.Calls, Time: t.Time, Faults: t.Faults})
	}
	return all
}

// Residents implements completion.Models.
func (m *models) Residents() []completion.Resident {
	var list []completion.Resident
	for _, p := range m.set.Present() {
		r := completion.Resident{Name: p.Name, Waiting: p.Waiting}
		if p.State == residency.Loaded {
			r.Model = p.Loaded.model
			r.Name = r.Model.Name
		}
		list = append(list, r)
	}
	return list
}
