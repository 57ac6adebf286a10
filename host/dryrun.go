// SPDX-License-Identifier: MIT

package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/native"
)

// dryRun is a fit.Model: that of a model, together with the draft model that is to guess for it.
type dryRun struct {
	*model.DryRun
	draft  *model.DryRun // nil: none
	file   *model.File
	config config.Config
}

func openDryRun(ctx context.Context, c config.Config, path string, o engine.Options) (*dryRun, error) {
	own, err := model.OpenDryRun(ctx, path, model.Options{}, o.ModelOptions())
	if err != nil {
		return nil, err
	}
	d := &dryRun{DryRun: own, config: c}
	if !c.Speculation.ByModel() {
		return d, nil
	}
	if d.file, err = model.Resolve(c.Speculation.DraftModel, model.Options{Folder: c.Models.Dir}); err == nil {
		d.draft, err = model.OpenDryRun(ctx, d.file.Path, model.Options{}, draftOptions(c, d.file.Path, 0).ModelOptions())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("speculation.draft_model: %w", err), d.Close())
	}
	return d, nil
}

// Need implements fit.Model.
func (d *dryRun) Need(ctx context.Context, o native.ContextOptions) (model.Need, error) {
	need, err := d.DryRun.Need(ctx, o)
	if err != nil || d.draft == nil {
		return need, err
	}
	of := draftOptions(d.config, "", o.Cells)
	of.Slots = o.Sequences
	more, err := d.draft.Need(ctx, of.ContextOptions(d.draft.Info()))
	if err != nil {
		return nil, fmt.Errorf("speculation.draft_model: %w", err)
	}
	return need.Plus(more), nil
}

// Close ends what it runs.
func (d *dryRun) Close() error {
	err := d.DryRun.Close()
	if d.draft != nil {
		err = errors.Join(err, d.draft.Close())
	}
	if d.file != nil {
		err = errors.Join(err, d.file.Close())
	}
	return err
}
