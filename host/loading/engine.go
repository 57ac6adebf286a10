// SPDX-License-Identifier: MIT

package loading

import (
	"cmp"
	"context"
	"log/slog"

	"github.com/penstock/penstock/host/adapter"
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/model"
)

// openEngine loads the weights and computes a first pass.
func (l *loader) openEngine(ctx context.Context, o engine.Options, file *model.File, remote *remoteModel) (*engine.Engine, error) {
	o.Name, o.Progress, o.Lacks, o.ControlVectors = l.Name, l.Progress, lacksOf(file, l.log), controlVectors(l.config.Model)
	o.Template = templateOptions(l.config.Chat, file.Template)
	e, err := engine.Open(ctx, o)
	if err != nil && remote != nil {
		err = cmp.Or(remote.workers.lost(), err) // which then is why
	}
	if err != nil {
		return nil, err
	}
	l.opened.add(e.Close)
	file.GPUComputed()
	return e, nil
}

// lacksOf says in the log what the model cannot do, and hands it on.
func lacksOf(f *model.File, log *slog.Logger) engine.Lacks {
	for _, l := range f.Lacks {
		log.Info("serving without a feature that llama.cpp lacks for this model", "without", l.What, "because", l.Why)
	}
	return engine.Lacks{
		Together: f.Lacks.Has(model.Together), Selecting: f.Lacks.Has(model.Selecting), Truncating: f.Lacks.Has(model.Truncating),
		Sharing: f.Lacks.Has(model.Sharing), Saving: f.Lacks.Has(model.Saving),
	}
}

// openAdapters loads the LoRA adapters that are there from the start.
func (l *loader) openAdapters(ctx context.Context, e *engine.Engine, file *model.File) (*adapter.Registry, error) {
	adapters, err := adapter.Open(ctx, e, file.Path, model.Options{
		Folder: l.config.Models.Dir,
		Trying: func() { l.log.Info("trying the LoRA adapter in a child process, as with every new file") },
	}, loraFiles(l.config.Model))
	if err != nil {
		return nil, err
	}
	l.opened.add(adapters.Close)
	return adapters, nil
}
