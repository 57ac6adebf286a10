// SPDX-License-Identifier: MIT

// Package loading turns a configuration into a model that can be served. Open is its table of
// contents: a line for each step, each of them a function with one result. The short ones stand
// below it; the others lead to one file each: llama.cpp's options (options.go), what fits
// (plan.go), workers, and how one that is lost comes back (revive.go), what the model is
// (describe.go), plugins, embeddings and the drafter. What becomes of all that is in core.go and
// served.go.
package loading

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/penstock/penstock/host/adapter"
	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/host/pausing"
	"github.com/penstock/penstock/host/policy"
	"github.com/penstock/penstock/host/recording"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/telemetry"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/estimator"
	"github.com/penstock/penstock/scheduler/kvcache"
)

// Options are what a model needs besides its configuration.
type Options struct {
	Name        string                 // in the API; empty: by the configuration
	Progress    func(done float32)     // called with 0 to 1 while the weights load; may be nil
	ComputeLock *scheduler.ComputeLock // with other models; nil: it is alone
	Passes      *pausing.Passes        // of all models, beside the ticks of their schedulers; nil: its own
	Beside      bool                   // others answer requests meanwhile
	Broken      []model.BrokenKernel   // kernels that other models have come across
	Recordings  *recording.Store       // of all models; nil: no request is recorded
	Plugins     *Plugins               // of the server; nil: its own, of the configured folder
	memory      uint64                 // bytes of main memory that the model may take; 0: what is available
}

// loader has what the steps share.
type loader struct {
	Options
	config  config.Config // with what the steps so far have decided
	log     *slog.Logger
	metrics *telemetry.Metrics
	opened  closers

	projector serving.Projector // with what the model sees or hears, as findProjector has found
}

func newLoader(c config.Config, log *slog.Logger, o Options) *loader {
	o.Name = cmp.Or(o.Name, NameOf(c.Model))
	if o.Passes == nil {
		o.Passes = pausing.NewPasses()
	}
	return &loader{Options: o, config: c, log: log, metrics: telemetry.NewMetrics(o.Name)}
}

// Open finds, checks and loads the configured model. It stops soon after ctx is done. What it has
// opened when a step fails it closes. What llama.cpp logs goes where native.SetLogger has it go.
func Open(ctx context.Context, c config.Config, log *slog.Logger, o Options) (_ *Core, err error) {
	l := newLoader(c, log, o)
	defer func() {
		if err != nil {
			err = errors.Join(err, l.opened.Close())
		}
	}()
	wished := engineOptions(c)
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
	projector, err := l.findProjector(ctx, file)
	if err != nil {
		return nil, err
	}
	wished = l.enlarge(wished, projector)
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
	chat.Arrange()
	media, err := l.openProjector(chat, projector)
	if err != nil {
		return nil, err
	}
	info := l.describe(chat, file, remote, media)
	adapters, err := l.openAdapters(ctx, chat, file)
	if err != nil {
		return nil, err
	}
	plugins, err := l.usePlugins(ctx, chat)
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
	s, err := l.newScheduler(chat, adapters, drafter, media)
	if err != nil {
		return nil, err
	}
	info.Drafter = drafter.name
	core := &Core{Engine: chat, Scheduler: s, Plugins: policy.New(chat, plugins.Registry, plugins.model, plugins.defaults),
		Metrics: l.metrics, Broken: embeddings.broken, remote: remote}
	if core.Model, err = l.served(info, core, adapters, plugins, embeddings, media); err != nil {
		return nil, err
	}
	core.opened = l.opened
	return core, nil
}

// openFile finds the model's file and tries it as it is to be loaded. Where a GPU does not compute
// it, the configuration has none from then on.
func (l *loader) openFile(ctx context.Context, o engine.Options) (*model.File, error) {
	c := l.config
	remote := len(c.Workers.RPC) > 0
	if remote { // it is tried in a child, which has no connections with workers
		o.Model, o.GPULayers = withoutGPU(o.Model), 0
	}
	file, err := model.Open(ctx, c.Model.Path, model.CheckOptions{
		Folder: c.Models.Dir, Kernels: native.KernelChoice(c.Model.Kernels), GPULayers: o.GPULayers, Workers: remote, Broken: l.Broken, Beside: l.Beside,
		Loading: o.Model, Computing: o.Context,
		Template: c.Chat.Template, TemplateFile: c.Chat.TemplateFile,
		Trying: func() { l.log.Info("trying the model in a child process, as with every new file") },
	})
	if err != nil {
		return nil, err
	}
	l.opened = append(l.opened, file.Close)
	if file.NoGPU != nil {
		l.config.Model.GPULayers = 0
	}
	return file, nil
}

// withoutGPU has the CPU alone load what a GPU cannot compute with.
func withoutGPU(o native.ModelOptions) native.ModelOptions {
	o.GPULayers, o.Devices, o.SplitMode, o.TensorSplit = 0, []string{"none"}, "", nil
	return o
}

// openEngine loads the weights and computes a first pass.
func (l *loader) openEngine(ctx context.Context, o engine.Options, file *model.File, remote *remoteModel) (*engine.Engine, error) {
	o.Name, o.Progress = l.Name, l.Progress
	e, err := engine.Open(ctx, completed(o, l.config, file, l.log))
	if err != nil && remote != nil {
		err = cmp.Or(remote.workers.lost(), err) // which then is why
	}
	if err != nil {
		return nil, err
	}
	l.opened = append(l.opened, e.Close)
	file.GPUComputed()
	return e, nil
}

// openAdapters loads the LoRA adapters that are there from the start.
func (l *loader) openAdapters(ctx context.Context, e *engine.Engine, file *model.File) (*adapter.Registry, error) {
	adapters, err := adapter.Open(ctx, e, file.Path, model.CheckOptions{
		Folder: l.config.Models.Dir,
		Trying: func() { l.log.Info("trying the LoRA adapter in a child process, as with every new file") },
	}, loraFiles(l.config.Model))
	if err != nil {
		return nil, err
	}
	l.opened = append(l.opened, adapters.Close)
	return adapters, nil
}

// loraFiles are the LoRA adapters to load at the start, in llama-server's order.
func loraFiles(m config.Model) (files []adapter.File) {
	for _, path := range m.Lora {
		files = append(files, adapter.File{Path: path, Scale: 1})
	}
	for _, s := range m.LoraScaled {
		files = append(files, adapter.File{Path: s.Path, Scale: s.Scale})
	}
	if m.LoraInitWithoutApply {
		for i := range files {
			files[i].Scale = 0
		}
	}
	return files
}

// strategies are those of scheduler.strategy.
var strategies = map[string]estimator.Strategy{
	"decode-maximal":   estimator.DecodeMaximal{},
	"prefill-priority": estimator.PrefillPriority{},
	"balanced":         estimator.Balanced{},
}

// newScheduler is what shares the model among requests. The metrics watch it.
func (l *loader) newScheduler(e *engine.Engine, adapters *adapter.Registry, d drafter, m *mediaEncoder) (*scheduler.Scheduler, error) {
	c := l.config.Scheduler
	s, err := scheduler.New(e.Backend(), scheduler.Config{
		Checkpoints: kvcache.CheckpointOptions{Most: c.CtxCheckpoints, MinStep: c.CheckpointMinStep, Bytes: c.CacheRAM},
		Slots:       c.Slots, QueueLimit: c.MaxQueue, ITLTarget: c.ITLTarget, ArchiveBytes: c.CacheRAM,
		PrefillShare: c.PrefillShare, Strategy: strategies[c.Strategy], Observer: l.metrics,
		Log: l.log, Others: l.Passes, ComputeLock: l.ComputeLock, Drafter: d.Drafter, MostDrafted: l.config.Speculation.DraftNMax, Pieces: m.table(),
	})
	if err != nil {
		return nil, fmt.Errorf("set up the scheduler: %w", err)
	}
	l.metrics.Watch(s.Stats, e.Threads)
	l.metrics.Picker(telemetry.Picked{Load: s.Load, Adapters: func() int { return len(adapters.List()) }, Names: func(key string) (names []string) {
		set, _ := adapters.Named(key)
		for _, a := range set {
			names = append(names, a.Name)
		}
		return names
	}})
	return s, nil
}

// besideBuiltIn is the configuration for a model that generates nothing, where it asks for what the
// model can do: the built-in model chats beside it, so that a command line for llama-server works.
func besideBuiltIn(c config.Config) (config.Config, bool) {
	switch {
	case c.Model.Path == "" || !scoring(c) && !c.Embedding.Enabled:
		return c, false
	case scoring(c):
		c.Rerank.Model = cmp.Or(c.Rerank.Model, c.Model.Path)
	default:
		c.Embedding.Model = cmp.Or(c.Embedding.Model, c.Model.Path)
	}
	c.Model.Path = ""
	return c, true
}

// scoring reports whether the model that is served is to score documents.
func scoring(c config.Config) bool { return c.Rerank.Enabled || c.Embedding.Pooling == "rank" }

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
