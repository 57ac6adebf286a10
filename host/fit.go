// SPDX-License-Identifier: MIT

package host

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/fit"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/native"
)

// Plan finds out how a model would be served by a configuration with so much main memory (0: any amount), and what that takes. With
// model.fit off it is as configured.
func Plan(ctx context.Context, c config.Config, path string, memory uint64) (p fit.Plan, err error) {
	o, err := engineOptions(c)
	if err != nil {
		return p, err
	}
	o.Path = path
	layers, text, err := fittedLayers(ctx, c, o, memory)
	if err == nil { // else the plan has the same fault
		o.GPULayers = layers
	}
	if p, err = planned(ctx, c, o, memory); text != "" {
		p.Text = text + "; " + p.Text
	}
	return p, err
}

func planned(ctx context.Context, c config.Config, o engine.Options, memory uint64) (p fit.Plan, err error) {
	dry, err := openDryRun(ctx, c, o.Path, o)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, dry.Close()) }()
	if info := dry.Info(); !info.Generates() {
		embedder := embedderOptions(c)
		embedder.Model, embedder.Context = o.Model, o.Context
		p.Options = o
		p.Need, err = dry.DryRun.Need(ctx, embedder.ContextOptions(info))
		return p, err
	}
	w := wish(c, o)
	r := fit.Room{Main: memory, Margin: uint64(c.Model.FitTarget)}
	if c.Model.Fit == "off" {
		w.AnyContext, w.AnySlots, r = false, false, fit.Room{AnyGPU: true}
	}
	return fit.Choose(ctx, dry, w, r)
}

// fittedLayers are the layers that a model which is loaded now has on GPUs: all that fit, unless the configuration says how many. Where
// they are not all, a line says so.
func fittedLayers(ctx context.Context, c config.Config, o engine.Options, memory uint64) (layers int, text string, err error) {
	if !choosesLayers(c, o) {
		return o.GPULayers, "", nil
	}
	closing := func() error { return nil }
	defer func() { _ = closing() }() // what it told is told
	of := func(ctx context.Context, layers int) (fit.Model, error) {
		_ = closing() // a driver takes memory for each process
		o.GPULayers = layers
		dry, err := openDryRun(ctx, c, o.Path, o)
		if err == nil {
			closing = dry.Close
		}
		return dry, err
	}
	return fit.Layers(ctx, of, wish(c, o), fit.Room{Main: memory, Margin: uint64(c.Model.FitTarget)})
}

// layersToLoad are the same of the configured model. What is wrong with it is said by what loads it.
func layersToLoad(ctx context.Context, c config.Config, o engine.Options, memory uint64, log *slog.Logger) (int, error) {
	if !choosesLayers(c, o) {
		return o.GPULayers, nil
	}
	file, err := model.Resolve(c.Model.Path, model.Options{Folder: c.Models.Dir})
	if err != nil {
		return o.GPULayers, err
	}
	defer file.Close() //nolint:errcheck // a temporary copy of the built-in model
	o.Path = file.Path
	layers, text, err := fittedLayers(ctx, c, o, memory)
	switch {
	case context.Cause(ctx) != nil:
		return layers, err
	case err != nil:
		log.Warn("how many layers fit on the GPU is not known", slog.Any("error", err))
		return o.GPULayers, nil
	case text != "":
		log.Info("fit: " + text)
	}
	return layers, nil
}

// choosesLayers reports whether there may be a GPU and nothing says what of a model is on which device.
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

// fitted are the options of a model that is loaded now, with less context and fewer slots than usual where it would not fit.
func fitted(ctx context.Context, c config.Config, o engine.Options, memory uint64, log *slog.Logger) (engine.Options, error) {
	if c.Model.Fit == "off" {
		return o, nil
	}
	p, err := planned(ctx, c, o, memory)
	switch {
	case errors.Is(err, model.ErrTooLarge), context.Cause(ctx) != nil:
		return o, err
	case err != nil: // it has passed its trial
		log.Warn("what the model takes of the memory is not known: it is served as configured", slog.Any("error", err))
	case p.Text != "":
		log.Info("fit: " + p.Text)
		return p.Options, nil
	}
	return o, nil
}

// embedderOptions are what the configuration says of a model for embeddings or scores.
func embedderOptions(c config.Config) engine.EmbedderOptions {
	return engine.EmbedderOptions{Batch: c.Scheduler.BatchSize, UBatch: c.Scheduler.UBatchSize, Threads: c.Model.Threads, GPULayers: c.Model.GPULayers}
}

// embedderNeed is what a model takes that gives embeddings or scores.
func embedderNeed(ctx context.Context, path string, o engine.EmbedderOptions) (need model.Need, err error) {
	dry, err := model.OpenDryRun(ctx, path, model.Options{}, engine.Options{Model: o.Model, GPULayers: o.GPULayers}.ModelOptions())
	if err != nil {
		return nil, err
	}
	need, err = dry.Need(ctx, o.ContextOptions(dry.Info()))
	return need, errors.Join(err, dry.Close())
}
