// SPDX-License-Identifier: MIT

package loading

import (
	"fmt"

	"github.com/penstock/penstock/host/adapter"
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/telemetry"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/estimator"
	"github.com/penstock/penstock/scheduler/kvcache"
)

var strategies = map[string]estimator.Strategy{
	"decode-maximal":   estimator.DecodeMaximal{},
	"prefill-priority": estimator.PrefillPriority{},
	"balanced":         estimator.Balanced{},
}

// newScheduler is what shares the model among requests. The metrics watch it.
func (l *loader) newScheduler(e *engine.Engine, adapters *adapter.Registry, d drafter) (*scheduler.Scheduler, error) {
	c := l.config.Scheduler
	s, err := scheduler.New(e.Backend(), scheduler.Config{
		Checkpoints: kvcache.CheckpointOptions{Most: c.CtxCheckpoints, MinStep: c.CheckpointMinStep, Bytes: c.CacheRAM},
		Slots:       c.Slots, QueueLimit: c.MaxQueue, ITLTarget: c.ITLTarget, ArchiveBytes: c.CacheRAM,
		PrefillShare: c.PrefillShare, Strategy: strategies[c.Strategy], Observer: l.metrics,
		Log: l.log, Others: l.Embeddings, Turns: l.Turns, Drafter: d.Drafter, MostDrafted: l.config.Speculation.DraftNMax,
	})
	if err != nil {
		return nil, fmt.Errorf("set up the scheduler: %w", err)
	}
	l.metrics.Watch(s.Stats)
	l.metrics.Picker(telemetry.Picked{Load: s.Load, Adapters: func() int { return len(adapters.List()) }, Names: func(key string) (names []string) {
		set, _ := adapters.Named(key)
		for _, a := range set {
			names = append(names, a.Name)
		}
		return names
	}})
	return s, nil
}
