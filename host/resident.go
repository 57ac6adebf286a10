// SPDX-License-Identifier: MIT

package host

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/penstock/penstock/host/loading"
	"github.com/penstock/penstock/native"
)

// resident is a model in memory whose scheduler runs.
type resident struct {
	*loading.Core
	halt func() error // ends the scheduler, and with it the answers that are left; once
}

// load loads a model with its settings and lets its scheduler run.
func (m *models) load(ctx context.Context, name string) (*resident, error) {
	c := m.settings(name)
	about, err := m.library.Model(c.Model.Path)
	embedsOnly := err == nil && about.Encoder && m.several()
	if embedsOnly {
		c.Embedding.Enabled = true // it can do nothing else
	}
	o := loading.Options{ComputeLock: m.computeLock, Passes: m.passes, Recordings: m.recordings, Plugins: m.plugins, Broken: m.broken, Beside: len(m.set.All()) > 0}
	if m.several() {
		o.Name = name
	}
	if name == m.first {
		o.Progress, m.progress = m.progress, nil
	}
	begin := time.Now()
	core, err := loading.Open(ctx, c, m.log, o)
	if err != nil {
		return nil, err
	}
	if !o.Beside {
		returnMemory() // of which loading takes more than serving
	}
	m.broken = core.Broken
	core.Model.EmbedsOnly = embedsOnly
	if name == m.first {
		m.remembered.Store(&firstModel{core.Model.Info, embedsOnly})
	}
	m.log.Info("model loaded", slog.String("model", name), slog.Uint64("parameters", core.Model.Parameters), slog.Int("context", core.Model.Context),
		slog.Int("slots", core.Model.Slots), slog.Duration("took", time.Since(begin).Round(time.Millisecond)))
	return start(core), nil
}

// start lets the scheduler of a core run.
func start(core *loading.Core) *resident {
	running, stop := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- core.Run(running) }()
	return &resident{Core: core, halt: sync.OnceValue(func() error {
		stop()
		return <-stopped
	})}
}

// Close ends what runs and frees the model.
func (r *resident) Close() error { return errors.Join(r.halt(), r.Core.Close()) }

// returnMemory gives memory that is free in the process back to the system, C's and Go's. It costs
// a garbage collection, some milliseconds of a processor, so it is for times of rest.
func returnMemory() {
	native.ReturnMemory()
	debug.FreeOSMemory()
}

// need tells how much main memory a model will take. What cannot be read needs none: loading it
// will say what is wrong.
func (m *models) need(ctx context.Context, name string) uint64 {
	c := m.settings(name)
	about, err := m.library.Model(c.Model.Path)
	if err != nil {
		return 0
	}
	p, err := loading.Plan(ctx, c, about.Files[0], m.set.Budget)
	if err != nil {
		return 0
	}
	return p.Need.Main().Used()
}
