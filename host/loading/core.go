// SPDX-License-Identifier: MIT

package loading

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/host/policy"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/telemetry"
	"github.com/penstock/penstock/scheduler"
)

// Core is a loaded model with the scheduler that shares it: a host without a network. Commands that
// answer in the terminal use it alone.
type Core struct {
	Engine    *engine.Engine
	Scheduler *scheduler.Scheduler
	Plugins   *policy.Builder
	Metrics   *telemetry.Metrics
	Model     *serving.Model       // as the API uses it
	Broken    []model.BrokenKernel // kernels that the models of this process have come across

	remote *remoteModel // nil: no workers compute it
	opened closers
}

// Run has the scheduler answer requests until ctx is done. Of a model that workers compute it keeps
// up the connections with them.
func (c *Core) Run(ctx context.Context) error {
	var keeper sync.WaitGroup
	defer keeper.Wait()
	if c.remote != nil {
		keeper.Go(func() { c.keepComputing(ctx) })
	}
	return c.Scheduler.Run(ctx)
}

// Lost reports whether a worker is lost, so that nothing computes the model.
func (c *Core) Lost() bool { return c.remote != nil && c.remote.down.Load() }

// Close frees the model. The scheduler's Run must have returned.
func (c *Core) Close() error { return c.opened.Close() }

// closers are what closes all that was opened, in its order.
type closers []func() error

// Close closes what was opened last first. Closed once, nothing is left to close.
func (c *closers) Close() error {
	var errs []error
	for _, f := range slices.Backward(*c) {
		errs = append(errs, f())
	}
	*c = nil
	return errors.Join(errs...)
}
