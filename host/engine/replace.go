// SPDX-License-Identifier: MIT

package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler"
)

// Devices of other machines can be lost, and with them all that was loaded there. The engine
// outlives that: the tokeniser, the template and the samplers of requests that wait use a model
// without weights (the text), and the model with weights and its context are replaced.

// ErrRemote refuses what would not outlive the loss of a worker.
var ErrRemote = errors.New("not for a model that workers compute; serve it without --rpc")

// asLost is a reason as a scheduler.ErrLost.
type asLost struct{ error }

func (e asLost) Is(target error) bool { return target == scheduler.ErrLost }
func (e asLost) Unwrap() error        { return e.error }

// AsLost marks why workers were lost, for Scheduler.Lose.
func AsLost(reason error) error { return asLost{reason} }

// textModel is what texts are made with: where weights can be lost a model of the same file
// without them.
func (o Options) textModel(ctx context.Context, weights *native.Model) (*native.Model, error) {
	if o.Lost == nil {
		return weights, nil
	}
	return native.LoadModel(ctx, o.Path, native.ModelOptions{VocabOnly: true, KVOverrides: o.Model.KVOverrides})
}

// Release frees the weights and the context. The scheduler must have lost its backend, or have
// ended.
func (e *Engine) Release() error {
	err := e.context.Close()
	if e.weights != e.model {
		err = errors.Join(err, e.weights.Close())
	}
	return err
}

// Restore loads the weights again after Release, with other options or the same, and makes a
// context like the one before. It stops soon after ctx is done.
func (e *Engine) Restore(ctx context.Context, m native.ModelOptions, lost func() error) error {
	o := e.identity.options
	o.Model, o.GPULayers, o.Lost = m, m.GPULayers, lost
	if o.KVLayout = "split"; e.backend.unified {
		o.KVLayout = "shared"
	}
	weights, err := native.LoadModel(ctx, o.Path, o.ModelOptions())
	if err != nil {
		return err
	}
	c, _, err := o.newContext(weights)
	if err != nil {
		return errors.Join(err, weights.Close())
	}
	if have, want := c.Limits(), e.info.Limits; have.Cells != want.Cells || have.Batch != want.Batch || have.Sequences != want.Sequences || have.Rows != want.Rows {
		return errors.Join(fmt.Errorf("the model has now %d KV cells for %d sequences in place of %d for %d", have.Cells, have.Sequences, want.Cells, want.Sequences),
			c.Close(), weights.Close())
	}
	e.weights, e.context = weights, c
	e.backend.replace(c, lost)
	return nil
}

// replace has the backend compute with another context, which is empty.
func (b *backend) replace(c *native.Context, lost func() error) {
	b.context, b.lost, b.adapters = c, lost, ""
	b.recurrent = newRollback(b.limits.Sequences, b.recurrent.snapshots)
	clear(b.stale)
	clear(b.borders)
}
