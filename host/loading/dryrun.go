// SPDX-License-Identifier: MIT

package loading

import (
	"context"
	"errors"
	"fmt"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/native"
)

// dryRun is where everything learns what a model takes before it is loaded. It is a fit.Model: that of a model, together with the draft
// model that is to guess for it.
type dryRun struct {
	alone  *model.DryRun // without the draft model
	draft  *model.DryRun // nil: none
	config config.Config
	opened closers
}

func openDryRun(ctx context.Context, c config.Config, o engine.Options) (_ *dryRun, err error) {
	d := &dryRun{config: c}
	if d.alone, err = model.OpenDryRun(ctx, o.Path, model.Options{}, o.ModelOptions()); err != nil {
		return nil, err
	}
	d.opened.add(d.alone.Close)
	if !c.Speculation.ByModel() {
		return d, nil
	}
	if err := d.openDraft(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("speculation.draft_model: %w", err), d.Close())
	}
	return d, nil
}

func (d *dryRun) openDraft(ctx context.Context) error {
	file, err := model.Resolve(d.config.Speculation.DraftModel, model.Options{Folder: d.config.Models.Dir})
	if err != nil {
		return err
	}
	d.opened.add(file.Close)
	if d.draft, err = model.OpenDryRun(ctx, file.Path, model.Options{}, draftOptions(d.config, file.Path, 0).ModelOptions()); err != nil {
		return err
	}
	d.opened.add(d.draft.Close)
	return nil
}

// askDryRun opens the dry run of a model for one question.
func askDryRun[Answer any](ctx context.Context, c config.Config, o engine.Options, ask func(*dryRun) (Answer, error)) (Answer, error) {
	d, err := openDryRun(ctx, c, o)
	if err != nil {
		var none Answer
		return none, err
	}
	a, err := ask(d)
	return a, errors.Join(err, d.Close())
}

// Info implements fit.Model.
func (d *dryRun) Info() native.ModelInfo { return d.alone.Info() }

// Need implements fit.Model.
func (d *dryRun) Need(ctx context.Context, o native.ContextOptions) (model.Need, error) {
	need, err := d.alone.Need(ctx, o)
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

// embedding is what the model takes that gives embeddings or scores, and guesses nothing.
func (d *dryRun) embedding(ctx context.Context, o engine.EmbedderOptions) (model.Need, error) {
	return d.alone.Need(ctx, o.ContextOptions(d.Info()))
}

// Close ends what it runs.
func (d *dryRun) Close() error { return d.opened.Close() }
