// SPDX-License-Identifier: MIT

package loading

import (
	"fmt"

	"github.com/penstock/penstock/host/adapter"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/recording"
	"github.com/penstock/penstock/host/slotfile"
	"github.com/penstock/penstock/host/telemetry"
	"github.com/penstock/penstock/scheduler"
)

// served is the model as the API uses it.
func (l *loader) served(info completion.Info, core *Core, adapters *adapter.Registry, p *plugins, e embeddings) (*completion.Model, error) {
	c := l.config.Scheduler
	m := &completion.Model{Info: info, Engine: core.Engine, Scheduler: schedulerAdapter{core.Scheduler}, Policies: core.Policies, Adapters: adapters,
		Measures: measures{l.metrics, p}, MaxTokens: max(c.NPredict, 0), ContextShift: c.ContextShift, ShiftKeep: c.Keep,
		Embeddings: e.vectors, Scores: e.scores}
	if l.Recordings != nil {
		m.Recordings = recording.New(l.Recordings, info.Name, core.Engine.Vocabulary())
	}
	if c.SlotSavePath != "" {
		saved, err := slotfile.Open(c.SlotSavePath, core.Engine, core.Scheduler)
		if err != nil {
			return nil, fmt.Errorf("scheduler.slot_save_path: %w", err)
		}
		l.opened.add(saved.Close)
		m.Conversations = saved
	}
	return m, nil
}

// schedulerAdapter turns a scheduler into a completion.Scheduler: its streams become interfaces.
type schedulerAdapter struct{ *scheduler.Scheduler }

// SubmitBuilt implements completion.Scheduler.
func (s schedulerAdapter) SubmitBuilt(n int, build func() ([]scheduler.Request, error)) ([]completion.Stream, error) {
	all, err := s.Scheduler.SubmitBuilt(n, build)
	out := make([]completion.Stream, len(all))
	for i, st := range all {
		out[i] = st
	}
	return out, err
}

// measures are what the metrics of a model have counted.
type measures struct {
	metrics *telemetry.Metrics
	plugins *plugins
}

// InterTokenLatency implements completion.Measures.
func (m measures) InterTokenLatency() completion.Histogram {
	bounds, counts, sum := m.metrics.InterTokenLatency()
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
