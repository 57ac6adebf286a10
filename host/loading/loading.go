// SPDX-License-Identifier: MIT

// Package loading turns a configuration into a model that can be served. Open is its table of contents: a line for each step, each of
// them a function with one result in a file of that name.
package loading

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/embedding"
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/host/policy"
	"github.com/penstock/penstock/host/recording"
	"github.com/penstock/penstock/host/telemetry"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler"
)

// Options are what a model needs besides its configuration.
type Options struct {
	Name       string               // in the API; empty: by the configuration
	Progress   func(done float32)   // called with 0 to 1 while the weights load; may be nil
	Turns      *scheduler.Turns     // with other models; nil: it is alone
	Embeddings *embedding.Turns     // of the embeddings of all models; nil: its own
	Beside     bool                 // others answer requests meanwhile
	Broken     []model.BrokenKernel // kernels that other models have come across
	Recordings *recording.Store     // of all models; nil: no request is recorded
	memory     uint64               // bytes of main memory that the model may take; 0: what is available
}

// loader has what the steps share.
type loader struct {
	Options
	config  config.Config // with what the steps so far have decided
	log     *slog.Logger
	metrics *telemetry.Metrics
	opened  closers
}

func newLoader(c config.Config, log *slog.Logger, o Options) *loader {
	o.Name = cmp.Or(o.Name, NameOf(c.Model))
	if o.Embeddings == nil {
		o.Embeddings = &embedding.Turns{}
	}
	return &loader{Options: o, config: c, log: log, metrics: telemetry.NewMetrics(o.Name)}
}

// Open finds, checks and loads the configured model. It stops soon after ctx is done. What it has opened when a step fails it closes.
func Open(ctx context.Context, c config.Config, log *slog.Logger, o Options) (_ *Core, err error) {
	native.SetLogger(log.With(slog.String("from", "llama.cpp")))
	l := newLoader(c, log, o)
	defer func() {
		if err != nil {
			err = errors.Join(err, l.opened.Close())
		}
	}()
	wished, err := engineOptions(c)
	if err != nil {
		return nil, err
	}
	if err := native.UseNUMA(c.Model.NUMA); err != nil {
		return nil, err
	}
	remote, err := l.openWorkers(ctx)
	if err != nil {
		return nil, err
	}
	if wished.GPULayers, err = l.layers(ctx, wished); err != nil {
		return nil, err
	}
	file, err := l.openFile(ctx, wished)
	if err != nil {
		return nil, err
	}
	options, err := l.size(ctx, wished, file, remote)
	if err != nil {
		return nil, err
	}
	chat, err := l.openEngine(ctx, options, file, remote)
	if other, ok := besideBuiltIn(l.config); ok && errors.Is(err, engine.ErrNotGenerating) {
		log.Info("this model does not generate text: the built-in model chats beside it", slog.String("model", l.Name))
		if err := l.opened.Close(); err != nil {
			return nil, err
		}
		return Open(ctx, other, log, o)
	}
	if err != nil {
		return nil, err
	}
	info := l.describe(chat, file, remote)
	adapters, err := l.openAdapters(ctx, chat, file)
	if err != nil {
		return nil, err
	}
	plugins, err := l.openPlugins(ctx, chat)
	if err != nil {
		return nil, err
	}
	embeddings, err := l.openEmbeddings(ctx, chat, file)
	if err != nil {
		return nil, err
	}
	drafter, err := l.openDrafter(ctx, chat)
	if err != nil {
		return nil, err
	}
	s, err := l.newScheduler(chat, adapters, drafter)
	if err != nil {
		return nil, err
	}
	info.Drafter = drafter.name
	core := &Core{Engine: chat, Scheduler: s, Policies: policy.New(chat, plugins.registry, c.Plugins.Default), Plugins: plugins.registry,
		Metrics: l.metrics, Broken: embeddings.broken, remote: remote}
	if core.Model, err = l.served(info, core, adapters, plugins, embeddings); err != nil {
		return nil, err
	}
	core.opened = l.opened
	return core, nil
}

// NameOf is the name of the model of a configuration in the API.
func NameOf(c config.Model) string {
	if len(c.Alias) > 0 {
		return c.Alias[0]
	}
	if c.Path == "" {
		return model.BuiltInName
	}
	return strings.TrimSuffix(filepath.Base(c.Path), ".gguf")
}
