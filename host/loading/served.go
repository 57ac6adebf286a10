// SPDX-License-Identifier: MIT

package loading

import (
	"fmt"

	"github.com/penstock/penstock/host/adapter"
	"github.com/penstock/penstock/host/recording"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/slotfile"
	"github.com/penstock/penstock/host/telemetry"
	"github.com/penstock/penstock/scheduler"
)

// served is the model as the API uses it.
func (l *loader) served(info serving.Info, core *Core, adapters *adapter.Registry, p *modelPlugins, e embeddings, media *mediaEncoder) (*serving.Model, error) {
	defaults, err := l.sampling(core.Engine)
	if err != nil {
		return nil, err
	}
	c := l.config.Scheduler
	m := &serving.Model{Info: info, Engine: core.Engine, Scheduler: schedulerAdapter{core.Scheduler}, Plugins: core.Plugins, Adapters: adapters,
		Measures: measures{l.metrics, p}, MaxTokens: max(c.NPredict, 0), ContextShift: c.ContextShift, ShiftKeep: c.Keep,
		Embeddings: e.vectors, Scores: e.scores, Sampling: defaults}
	if media != nil {
		m.MediaEncoder = media
	}
	if l.Recordings != nil {
		m.Record = recording.New(l.Recordings, info.Name, core.Engine.Vocabulary()).Begin
	}
	if c.SlotSavePath != "" {
		saved, err := slotfile.Open(c.SlotSavePath, core.Engine, core.Scheduler)
		if err != nil {
			return nil, fmt.Errorf("scheduler.slot_save_path: %w", err)
		}
		l.opened = append(l.opened, saved.Close)
		m.Conversations = saved
	}
	return m, nil
}

// schedulerAdapter turns a scheduler into a serving.Scheduler: its streams become interfaces.
type schedulerAdapter struct{ *scheduler.Scheduler }

// SubmitBuilt implements serving.Scheduler.
func (s schedulerAdapter) SubmitBuilt(caller string, n int, build func() ([]scheduler.Request, error)) ([]serving.Stream, error) {
	all, err := s.Scheduler.SubmitBuilt(caller, n, build)
	out := make([]serving.Stream, len(all))
	for i, st := range all {
		out[i] = st
	}
	return out, err
}

// measures are what the metrics of a model have counted.
type measures struct {
	metrics *telemetry.Metrics
	plugins *modelPlugins
}

// InterTokenLatency implements serving.Measures.
func (m measures) InterTokenLatency() serving.Histogram {
	bounds, counts, sum := m.metrics.InterTokenLatency()
	return serving.Histogram{Bounds: bounds, Counts: counts, Sum: sum}
}

// Plugins implements serving.Measures.
func (m measures) Plugins() []serving.PluginMeasures {
	totals := m.plugins.metrics.Totals()
	var all []serving.PluginMeasures
	for _, i := range m.plugins.List() {
		t := totals[i.Name]
		all = append(all, serving.PluginMeasures{Name: i.Name, State: string(i.StateWith(m.plugins.model.Name())), Calls: t.Calls, Time: t.Time, Faults: t.Faults})
	}
	return all
}
