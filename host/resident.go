// SPDX-License-Identifier: MIT

package host

import (
	"context"
	"errors"
	"sync"

	"github.com/penstock/penstock/host/loading"
)

// resident is a model in memory whose scheduler runs.
type resident struct {
	*loading.Core
	halt func() error // ends the scheduler, and with it the answers that are left; once
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
