// SPDX-License-Identifier: MIT

package host

import (
	"context"
	"errors"
	"sync"

	"github.com/penstock/penstock/host/completion"
)

// resident is a model in memory whose scheduler runs.
type resident struct {
	*Core
	model *completion.Model
	halt  func() error // ends the scheduler, and with it the answers that are left; once
}

// start lets the scheduler of a core run.
func start(core *Core) *resident {
	running, stop := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- core.Scheduler.Run(running) }()
	var keeper sync.WaitGroup
	if core.workers != nil {
		keeper.Go(func() { core.keepComputing(running) })
	}
	return &resident{Core: core, model: core.served(), halt: sync.OnceValue(func() error {
		stop()
		defer keeper.Wait()
		return <-stopped
	})}
}

// Close ends what runs and frees the model.
func (r *resident) Close() error { return errors.Join(r.halt(), r.Core.Close()) }
