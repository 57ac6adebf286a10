// SPDX-License-Identifier: MIT

package loading

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/model"
)

const (
	reviveEvery = 500 * time.Millisecond // a lost worker is asked for
	patience    = 10 * time.Second       // after which the model is served without it, where it fits
)

// keepComputing has a model served on after a worker was lost: its answers end, what is left of it
// is freed, and it is loaded again when the worker is back, or without it. It returns when ctx is
// done.
func (c *Core) keepComputing(ctx context.Context) {
	r := c.remote
	for {
		reason := r.workers.awaitLoss(ctx)
		if ctx.Err() != nil {
			return
		}
		r.log.Error("a worker was lost: its model is loaded again when it is back", slog.String("model", c.Model.Name), slog.Any("error", reason))
		r.down.Store(true)
		c.Scheduler.Lose(engine.AsLost(reason))
		if err := c.Engine.Release(); err != nil {
			r.log.Warn("a model was not freed as it should", slog.Any("error", err))
		}
		r.workers.Close()
		begin := time.Now()
		if !c.revive(ctx, begin) {
			return
		}
		r.down.Store(false)
		c.Scheduler.Revive()
		r.log.Info("the model answers again", slog.String("model", c.Model.Name), slog.Duration("after", time.Since(begin).Round(time.Millisecond)))
	}
}

// revive loads the model again as soon as that is possible. It reports false when ctx is done.
func (c *Core) revive(ctx context.Context, begin time.Time) bool {
	said := ""
	for ctx.Err() == nil {
		err := c.remote.reload(ctx, c.Engine, time.Since(begin) > patience)
		if err == nil {
			return true
		}
		if text := err.Error(); text != said && ctx.Err() == nil {
			said = text
			c.remote.log.Warn("the model is not back yet", slog.String("model", c.Model.Name), slog.Any("error", err))
		}
		select {
		case <-time.After(reviveEvery):
		case <-ctx.Done():
		}
	}
	return false
}

// reload loads the model with its workers, or with those that can be reached.
func (r *remoteModel) reload(ctx context.Context, e *engine.Engine, incomplete bool) error {
	addresses := r.config.Workers.RPC
	if incomplete {
		addresses = reachable(ctx, r.config.Workers)
	}
	w, err := connectAll(ctx, r.config.Workers, addresses)
	if err != nil {
		return err
	}
	o, err := w.place(ctx, r.config, r.wished, model.AvailableMemory())
	if err == nil {
		o.Model.GPULayers = o.GPULayers
		err = e.Restore(ctx, o.Model, w.lost)
	}
	if err != nil {
		err = cmp.Or(w.lost(), err) // which then is why
		w.Close()
		return err
	}
	r.workers = w
	w.log(r.log)
	return nil
}
