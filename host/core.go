// SPDX-License-Identifier: MIT

package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/penstock/penstock/host/adapter"
	"github.com/penstock/penstock/host/catalog"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/embedding"
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/host/policy"
	"github.com/penstock/penstock/host/recording"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/slotfile"
	"github.com/penstock/penstock/host/telemetry"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/estimator"
	"github.com/penstock/penstock/scheduler/kvcache"
)

// Core is a loaded model with the scheduler that shares it: a host without a network. Commands that answer in the
// terminal use it alone.
type Core struct {
	Engine    *engine.Engine
	Scheduler *scheduler.Scheduler
	Policies  *policy.Builder
	Catalog   *catalog.Catalog
	Adapters  *adapter.Registry
	Metrics   *telemetry.Metrics
	Model     completion.Info
	Saved     *slotfile.Folder    // nil: the conversations of slots are not saved
	Recorder  *recording.Recorder // nil: no request is recorded

	file       *model.File
	plugins    *plugins
	config     config.Scheduler
	embeddings *embeddings
	guesses    *guesses

	// Of a model that workers compute; see revive.go.
	workers  *workers // nil: there are none
	settings config.Config
	options  engine.Options // before it was decided what workers compute
	down     atomic.Bool    // a worker is lost
	log      *slog.Logger
}

// OpenCore finds, checks and loads the configured model. progress is called with 0 to 1 while the weights load; nil is
// fine. It stops soon after ctx is done.
func OpenCore(ctx context.Context, c config.Config, log *slog.Logger, progress func(done float32)) (*Core, error) {
	native.SetLogger(log.With(slog.String("from", "llama.cpp")))
	return openCore(ctx, c, log, coreOptions{progress: progress})
}

// coreOptions are what a core needs besides its configuration.
type coreOptions struct {
	name     string // empty: by the configuration
	progress func(done float32)
	turns    *scheduler.Turns // with other models; nil: it is alone
	beside   bool             // others answer requests meanwhile
	memory   uint64           // bytes of main memory that the model may take; 0: what is available
	// embeddingTurns are those of all models; nil: its own.
	embeddingTurns *embedding.Turns
	broken         []model.BrokenKernel // that other models have come across
	recordings     *recording.Store     // of all models; nil: no request is recorded
}

func openCore(ctx context.Context, c config.Config, log *slog.Logger, o coreOptions) (_ *Core, err error) {
	name := cmp.Or(o.name, nameOf(c.Model))
	options, err := engineOptions(c)
	if err != nil {
		return nil, err
	}
	if err := native.UseNUMA(c.Model.NUMA); err != nil {
		return nil, err
	}
	core := &Core{}
	defer func() {
		if err != nil {
			err = errors.Join(err, core.Close())
		}
	}()
	trial := options // in a child, which has no sessions with workers
	if len(c.Workers.RPC) > 0 {
		trial.Model, trial.GPULayers = withoutGPU(options.Model), 0
		core.workers, err = openAll(ctx, c.Workers)
	} else {
		trial.GPULayers, err = layersToLoad(ctx, c, options, cmp.Or(o.memory, model.AvailableMemory()), log)
		options.GPULayers = trial.GPULayers
	}
	if err != nil {
		return nil, err
	}
	core.file, err = model.Open(ctx, c.Model.Path, model.Options{
		Folder: c.Models.Dir, Kernels: native.KernelChoice(c.Model.Kernels), GPULayers: trial.GPULayers, Workers: core.workers != nil, Broken: o.broken, Beside: o.beside,
		Loading: trial.Model, Computing: options.Context,
		Template: c.Chat.Template, TemplateFile: c.Chat.TemplateFile,
		Trying: func() { log.Info("trying the model in a child process, as with every new file") },
	})
	if err != nil {
		return nil, err
	}
	if core.file.NoGPU != nil {
		c.Model.GPULayers, options.GPULayers, options.Model = 0, 0, withoutGPU(options.Model)
	}
	options.Path = core.file.Path
	if options, err = core.placed(ctx, c, options, cmp.Or(o.memory, model.AvailableMemory()), log); err != nil {
		return nil, err
	}
	c.Scheduler.Slots = options.Slots
	options.Name, options.Progress, options.Lacks, options.ControlVectors = name, o.progress, lacksOf(core.file, log), controlVectors(c.Model)
	options.Template = templateOptions(c.Chat, core.file.Template)
	core.Engine, err = engine.Open(ctx, options)
	if err != nil && core.workers != nil {
		err = cmp.Or(core.workers.lost(), err) // which then is why
	}
	if errors.Is(err, engine.ErrNotGenerating) {
		if other, ok := besideBuiltIn(c); ok {
			log.Info("this model does not generate text: the built-in model chats beside it", slog.String("model", name))
			if err := core.Close(); err != nil {
				return nil, err
			}
			return openCore(ctx, other, log, o)
		}
	}
	if err != nil {
		return nil, err
	}
	core.file.GPUComputed() // the engine's first pass
	core.Model = describe(core.Engine, core.file)
	core.Model.Workers = core.workers.describe()
	core.Model.Thinking = &sampling.Thinking{Budget: c.Chat.ReasoningBudget, Message: c.Chat.ReasoningMessage}
	core.Model.Slots, core.Model.Batch, core.Model.Tags = c.Scheduler.Slots, c.Scheduler.BatchSize, c.Model.Tags
	if len(c.Model.Alias) > 0 {
		core.Model.Aliases = c.Model.Alias
	}
	core.config = c.Scheduler
	if core.Model.Options = c.Changed(); len(core.Model.Options) > 0 {
		log.Info("llama.cpp's options that differ from the defaults", slog.Any("options", core.Model.Options))
	}
	logKernels(log, core.Model.Kernels)
	core.Metrics = telemetry.NewMetrics(name)
	if err := core.equip(ctx, c, log, o); err != nil {
		return nil, err
	}
	return core, nil
}

// placed are the options of a model that is loaded now, such that it fits into the memory of this machine, or of the workers.
func (c *Core) placed(ctx context.Context, settings config.Config, o engine.Options, memory uint64, log *slog.Logger) (engine.Options, error) {
	if c.workers == nil {
		return fitted(ctx, settings, o, memory, log)
	}
	c.settings, c.options, c.log = settings, o, log
	c.workers.log(log)
	return c.workers.place(ctx, settings, o, memory)
}

// equip opens what works with the engine: adapters, plugins, embeddings and the scheduler.
func (c *Core) equip(ctx context.Context, settings config.Config, log *slog.Logger, o coreOptions) (err error) {
	c.Adapters, err = adapter.Open(ctx, c.Engine, c.file.Path, model.Options{
		Folder: settings.Models.Dir,
		Trying: func() { log.Info("trying the LoRA adapter in a child process, as with every new file") },
	}, loraFiles(settings.Model))
	if err != nil {
		return err
	}
	if c.plugins, err = openPlugins(ctx, settings, c.Engine, c.Metrics, log); err != nil {
		return err
	}
	if o.recordings != nil {
		c.Recorder = recording.New(o.recordings, c.Model.Name, c.Engine.Vocabulary())
	}
	c.Policies = policy.New(c.Engine, c.plugins.registry, settings.Plugins.Default)
	c.Catalog = catalog.New(c.plugins.registry, settings.Plugins.Default)
	embeddingTurns := o.embeddingTurns
	if embeddingTurns == nil {
		embeddingTurns = &embedding.Turns{}
	}
	opener := embeddingOpener{config: settings, chat: c.Engine, path: c.file.Path, lacks: c.file.Lacks, broken: c.file.Broken, beside: o.beside,
		metrics: c.Metrics, turns: embeddingTurns, log: log}
	if c.embeddings, err = opener.open(ctx); err != nil {
		return err
	}
	if c.guesses, err = openGuesses(ctx, settings, c.Engine, log); err != nil {
		return err
	}
	c.Model.Drafter = c.guesses.name
	c.Scheduler, err = scheduler.New(c.Engine.Backend(), scheduler.Config{
		Checkpoints: kvcache.CheckpointOptions{Most: settings.Scheduler.CtxCheckpoints, MinStep: settings.Scheduler.CheckpointMinStep, Bytes: settings.Scheduler.CacheRAM},
		Slots:       settings.Scheduler.Slots, QueueLimit: settings.Scheduler.MaxQueue, ITLTarget: settings.Scheduler.ITLTarget, ArchiveBytes: settings.Scheduler.CacheRAM,
		PrefillShare: settings.Scheduler.PrefillShare, Strategy: strategies[settings.Scheduler.Strategy], Observer: c.Metrics,
		Log: log, Others: embeddingTurns, Turns: o.turns, Drafter: c.guesses.drafter, MostDrafted: settings.Speculation.DraftNMax,
	})
	if err != nil {
		return fmt.Errorf("set up the scheduler: %w", err)
	}
	if path := settings.Scheduler.SlotSavePath; path != "" {
		if c.Saved, err = slotfile.Open(path, c.Engine, c.Scheduler); err != nil {
			return fmt.Errorf("scheduler.slot_save_path: %w", err)
		}
	}
	c.Metrics.Watch(c.Scheduler.Stats)
	c.Metrics.Picker(telemetry.Picked{Load: c.Scheduler.Load, Adapters: func() int { return len(c.Adapters.List()) }, Names: c.adapterNames})
	return nil
}

// adapterNames are those of a set of LoRA adapters by its key.
func (c *Core) adapterNames(key string) (names []string) {
	set, _ := c.Adapters.Named(key)
	for _, s := range set {
		names = append(names, s.Name)
	}
	return names
}

var strategies = map[string]estimator.Strategy{
	"decode-maximal":   estimator.DecodeMaximal{},
	"prefill-priority": estimator.PrefillPriority{},
	"balanced":         estimator.Balanced{},
}

// served is the model as the API uses it.
func (c *Core) served() *completion.Model {
	m := &completion.Model{Info: c.Model, Engine: c.Engine, Scheduler: schedulerAdapter{c.Scheduler}, Policies: c.Policies, Adapters: c.Adapters, Measures: measures{c},
		MaxTokens: max(c.config.NPredict, 0), ContextShift: c.config.ContextShift, ShiftKeep: c.config.Keep,
		Embeddings: c.embeddings.vectors, Scores: c.embeddings.scores}
	if c.Saved != nil {
		m.Conversations = c.Saved
	}
	if c.Recorder != nil {
		m.Recordings = c.Recorder
	}
	return m
}

// Close frees the model. The scheduler's Run must have returned.
func (c *Core) Close() error {
	var errs []error
	if c.Saved != nil {
		errs = append(errs, c.Saved.Close())
	}
	if c.plugins != nil {
		errs = append(errs, c.plugins.Close())
	}
	if c.embeddings != nil {
		errs = append(errs, c.embeddings.Close())
	}
	if c.Adapters != nil {
		errs = append(errs, c.Adapters.Close())
	}
	errs = append(errs, c.guesses.Close())
	if c.Engine != nil {
		errs = append(errs, c.Engine.Close())
	}
	if c.workers != nil {
		c.workers.Close()
	}
	if c.file != nil {
		errs = append(errs, c.file.Close())
	}
	return errors.Join(errs...)
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

func describe(e *engine.Engine, f *model.File) completion.Info {
	info := e.Info()
	created := time.Now()
	if stat, err := os.Stat(f.Path); err == nil {
		created = stat.ModTime()
	}
	return completion.Info{
		Name: info.Name, Path: f.Path, Created: created, Family: info.Architecture, Thinks: info.Thinks, FileType: info.FileType, BuiltIn: f.BuiltIn,
		Context: info.Limits.Positions, Training: info.ContextTrain, Vocabulary: info.Vocabulary, Embedding: info.Embedding,
		Parameters: info.Parameters, Size: info.Size, Template: info.Template,
		BOS: special(e, info.Special.BOS), EOS: special(e, info.Special.EOS),
		Kernels: kernelsOf(e, f), Ends: e.Ends(), VocabType: info.VocabType, TemplateCaps: info.TemplateCaps, ToolTemplate: info.ToolTemplate,
		AddBOS: info.AddBOS, BOSToken: info.Special.BOS, FIM: completion.FIM{Prefix: info.Special.FIMPrefix, Suffix: info.Special.FIMSuffix,
			Middle: info.Special.FIMMiddle, Repository: info.Special.FIMRepository, Separator: info.Special.FIMSeparator},
	}
}

func special(e *engine.Engine, t int32) string {
	if t < 0 {
		return ""
	}
	return e.Piece(t)
}
