// SPDX-License-Identifier: MIT

package host

import (
	"context"
	"errors"
	"sync"

	"github.com/penstock/penstock/host/catalog"
	"github.com/penstock/penstock/host/loading"
)

// resident is a model in memory whose scheduler runs.
type resident struct {
	*loading.Core
	catalog *catalog.Catalog // of its plugins
	halt    func() error     // ends the scheduler, and with it the answers that are left; once
}

// start lets the scheduler of a core run.
func start(core *loading.Core, plugins []string) *resident {
	running, stop := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- core.Run(running) }()
	return &resident{Core: core, catalog: catalog.New(core.Plugins, plugins), halt: sync.OnceValue(func() error {
		stop()
		return <-stopped
	})}
}

// Close ends what runs and frees the model.
func (r *resident) Close() error { return errors.Join(r.halt(), r.Core.Close()) }
