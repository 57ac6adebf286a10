// SPDX-License-Identifier: MIT

package loading

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/fit"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/native"
)

// Plan finds out how a model would be served by a configuration with so much main memory (0: any
// amount), and what that takes. With model.fit off it is as configured.
func Plan(ctx context.Context, c config.Config, path string, memory uint64) (p fit.Plan, err error) {
	o := engineOptions(c)
	o.Path = path
	useHead(&c, &o.Model, path)
	o = expectProjector(ctx, c, path).passes(o)
	layers, text, err := planLayers(ctx, c, o, memory)
	if err == nil { // else the plan has the same fault
		o.GPULayers = layers
	}
	if p, err = planSize(ctx, c, o, memory); text != "" {
		p.Text = text + "; " + p.Text
	}
	return p, err
}

// planSize finds the context and the slots, the layers being decided. The model's head is left out
// where more fits without it, of what was asked for, or too little memory would stay free: a larger
// context and more slots are worth more than its guesses.
func planSize(ctx context.Context, c config.Config, o engine.Options, memory uint64) (fit.Plan, error) {
	p, err := planGiven(ctx, c, o, memory)
	asLarge := func(as engine.Options) bool {
		return err == nil && !p.Tight && p.Slots == as.Slots && p.ContextSize == as.ContextSize &&
			p.Snapshots == o.Snapshots // without which no tokens are guessed
	}
	if !o.Model.LoadMTP || asLarge(o) {
		return p, err
	}
	o.Model.LoadMTP = false
	without, errWithout := planGiven(ctx, c, o, memory)
	if errWithout == nil && asLarge(without.Options) {
		return p, nil
	}
	without.Text = "no room for the model's head, which would guess tokens; " + without.Text
	return without, errWithout
}

// planGiven is planSize with the head, or without.
func planGiven(ctx context.Context, c config.Config, o engine.Options, memory uint64) (fit.Plan, error) {
	return askDryRun(ctx, c, o, func(dry *dryRun) (fit.Plan, error) {
		if !dry.Info().Generates() {
			embedder := embedderOptions(c)
			embedder.Model, embedder.Context = o.Model, o.Context
			need, err := dry.embedding(ctx, embedder)
			return fit.Plan{Options: o, Need: need}, err
		}
		w, r := wish(c, o), room(c, memory)
		if c.Model.Fit == "off" {
			w.AnyContext, w.AnySlots, r = false, false, fit.Room{AnyGPU: true}
		}
		return fit.Choose(ctx, dry, w, r)
	})
}

// planLayers finds the layers that are on GPUs: all that fit, unless the configuration says how
// many. If it is not all of them, a line reports it.
func planLayers(ctx context.Context, c config.Config, o engine.Options, memory uint64) (layers int, text string, err error) {
	if !choosesLayers(c, o) {
		return o.GPULayers, "", nil
	}
	var opened closers
	defer func() { _ = opened.Close() }() // what it told is told
	of := func(ctx context.Context, layers int) (fit.Model, error) {
		_ = opened.Close() // a driver takes memory for each process
		o.GPULayers = layers
		dry, err := openDryRun(ctx, c, o)
		if err != nil {
			return nil, err
		}
		opened = append(opened, dry.Close)
		return dry, nil
	}
	return fit.Layers(ctx, of, wish(c, o), room(c, memory))
}

// choosesLayers reports whether there may be a GPU and nothing says what of a model is on which
// device.
func choosesLayers(c config.Config, o engine.Options) bool {
	_, backend := native.Build()
	m := o.Model
	return backend != "cpu" && c.Model.Fit != "off" && o.GPULayers < 0 && !slices.Equal(m.Devices, []string{"none"}) &&
		len(m.TensorOverrides) == 0 && len(m.TensorSplit) == 0 && m.SplitMode != "tensor"
}

// wish is what a configuration asks for, and what it leaves open.
func wish(c config.Config, o engine.Options) fit.Wish {
	return fit.Wish{Options: o, AnyContext: o.ContextSize == 0, AnySlots: !c.Given("scheduler.slots"), LeastContext: c.Model.FitCtx}
}

// room is the memory that a configuration leaves to a model.
func room(c config.Config, memory uint64) fit.Room {
	return fit.Room{Main: memory, Margin: uint64(c.Model.FitTarget)}
}

// layers are those that the configured model is to have on GPUs. What is wrong with it is said by
// what loads it.
func (l *loader) layers(ctx context.Context, o engine.Options) (int, error) {
	c := l.config
	if len(c.Workers.RPC) > 0 || !choosesLayers(c, o) {
		return o.GPULayers, nil
	}
	file, err := model.Resolve(c.Model.Path, model.CheckOptions{Folder: c.Models.Dir})
	if err != nil {
		return o.GPULayers, err
	}
	defer file.Close() //nolint:errcheck // a temporary copy of the built-in model
	o.Path = file.Path
	layers, text, err := planLayers(ctx, c, o, l.available())
	switch {
	case context.Cause(ctx) != nil:
		return layers, err
	case err != nil:
		l.log.Warn("how many layers fit on the GPU is not known", slog.Any("error", err))
		return o.GPULayers, nil
	case text != "":
		l.log.Info("fit: " + text)
	}
	return layers, nil
}

// size has the model fit into the memory of this machine, or of the workers: with less context and
// fewer slots than usual where it would not fit. Later steps go by these slots.
func (l *loader) size(ctx context.Context, o engine.Options, file *model.File, remote *remoteModel) (sized engine.Options, err error) {
	o.Path = file.Path
	if file.NoGPU != nil {
		o.GPULayers, o.Model = 0, withoutGPU(o.Model)
	}
	if remote != nil {
		sized, err = remote.placeLayers(ctx, l.config, o, l.available())
	} else {
		sized, err = l.fitOptions(ctx, o)
	}
	l.config.Scheduler.Slots = sized.Slots
	return sized, err
}

func (l *loader) fitOptions(ctx context.Context, o engine.Options) (engine.Options, error) {
	if l.config.Model.Fit == "off" {
		return o, nil
	}
	p, err := planSize(ctx, l.config, o, l.available())
	switch {
	case errors.Is(err, model.ErrTooLarge), context.Cause(ctx) != nil:
		return o, err
	case err != nil: // it has passed its trial
		l.log.Warn("what the model takes of the memory is not known: it is served as configured", slog.Any("error", err))
	case p.Text != "":
		l.log.Info("fit: " + p.Text)
		return p.Options, nil
	}
	return o, nil
}

// available is how many bytes of main memory the model may take now.
func (l *loader) available() uint64 { return cmp.Or(l.memory, model.AvailableMemory()) }

// dryRun is where everything learns what a model takes before it is loaded. It is a fit.Model: that
// of a model, together with its projector and the draft model that is to guess for it.
type dryRun struct {
	alone  *model.DryRun // without these
	sees   *projector    // nil: it takes text only
	draft  *model.DryRun // nil: none
	config config.Config
	opened closers
}

func openDryRun(ctx context.Context, c config.Config, o engine.Options) (_ *dryRun, err error) {
	d := &dryRun{config: c, sees: expectProjector(ctx, c, o.Path)}
	if d.alone, err = model.OpenDryRun(ctx, o.Path, model.CheckOptions{}, o.ModelOptions()); err != nil {
		return nil, err
	}
	d.opened = append(d.opened, d.alone.Close)
	if !c.Speculation.ByModel() {
		return d, nil
	}
	if err := d.openDraft(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("speculation.draft_model: %w", err), d.Close())
	}
	return d, nil
}

func (d *dryRun) openDraft(ctx context.Context) error {
	file, err := model.Resolve(d.config.Speculation.DraftModel, model.CheckOptions{Folder: d.config.Models.Dir})
	if err != nil {
		return err
	}
	d.opened = append(d.opened, file.Close)
	if d.draft, err = model.OpenDryRun(ctx, file.Path, model.CheckOptions{}, draftOptions(d.config, file.Path, 0).ModelOptions()); err != nil {
		return err
	}
	d.opened = append(d.opened, d.draft.Close)
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
	if err == nil && d.sees != nil {
		need = need.Plus(d.sees.Need(d.sees.options.Device))
	}
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

// draftOptions opens a draft model beside a model with that many cells.
func draftOptions(c config.Config, path string, cells int) engine.Options {
	return engine.Options{Path: path, Slots: c.Scheduler.Slots, ContextSize: cells, Batch: c.Scheduler.BatchSize, UBatch: c.Scheduler.UBatchSize,
		Threads: c.Model.Threads, GPULayers: c.Speculation.DraftGPULayers, KVLayout: c.Model.KVLayout}
}

// embedderOptions are the configuration of a model for embeddings or scores.
func embedderOptions(c config.Config) engine.EmbedderOptions {
	return engine.EmbedderOptions{Batch: c.Scheduler.BatchSize, UBatch: c.Scheduler.UBatchSize, Threads: c.Model.Threads, GPULayers: c.Model.GPULayers}
}
