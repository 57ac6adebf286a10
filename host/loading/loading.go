// SPDX-License-Identifier: MIT

// Package loading turns a configuration into a model that can be served. Open is its table of
// contents: a line for each step, each of them a function with one result. The short ones stand
// below it, as does what becomes of all that; the others lead to one file each: llama.cpp's options
// and the parameters of samplers (options.go), what fits (plan.go), workers, and how one that is
// lost comes back (workers.go), plugins, also those of a Go program (plugins.go), pictures and
// sounds (media.go), embeddings and the drafter (embeddings.go). What only a Go program needs is in
// alone.go.
package loading

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/penstock/penstock/host/adapter"
	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/diskcache"
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/host/pausing"
	"github.com/penstock/penstock/host/policy"
	"github.com/penstock/penstock/host/receipt"
	"github.com/penstock/penstock/host/recording"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/slotfile"
	"github.com/penstock/penstock/host/telemetry"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/estimator"
	"github.com/penstock/penstock/scheduler/kvcache"
)

// Options are what a model needs besides its configuration.
type Options struct {
	Name         string                 // in the API; empty: by the configuration
	Called       string                 // by the server's policies; empty: as in the API
	Progress     func(done float32)     // called with 0 to 1 while the weights load; may be nil
	ComputeLock  *scheduler.ComputeLock // with other models; nil: it is alone
	Passes       *pausing.Passes        // of all models, beside the ticks of their schedulers; nil: its own
	WhileServing bool                   // others answer requests meanwhile
	Broken       []model.BrokenKernel   // kernels that other models have come across
	Recordings   *recording.Store       // of all models; nil: no request is recorded
	Receipts     *receipt.Signer        // of the server; nil: it signs none
	Disk         *diskcache.Store       // of the server's conversations; nil: none are on a disk
	Plugins      *Plugins               // of the server; nil: its own, of the configured folder
	memory       uint64                 // for tests: bytes of main memory that the model may take; 0: what is available
}

// loader has what the steps share.
type loader struct {
	Options
	config  config.Config // with what the steps so far have decided
	head    string        // the type of the head that may guess, by llama-server's name
	log     *slog.Logger
	metrics *telemetry.Metrics
	opened  closers

	noted     []receipt.File    // the files that take part, as they are when they are loaded
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
// opened when a step fails it closes. log gets none of llama.cpp's own lines: native.SetLogger says
// where these go, for the whole process.
func Open(ctx context.Context, c config.Config, log *slog.Logger, o Options) (_ *Core, err error) {
	l := newLoader(c, log, o)
	defer func() {
		if err != nil {
			err = errors.Join(err, l.opened.Close())
		}
	}()
	wished := engineOptions(c)
	l.head = useHead(&l.config, &wished.Model, c.Model.Path)
	if err := native.UseNUMA(c.Model.NUMA); err != nil {
		return nil, err
	}
	remote, err := l.openWorkers(ctx)
	if err != nil {
		return nil, err
	}
	if wished.GPULayers, err = l.layers(ctx, wished); err != nil { // before the file is tried, which is with these layers
		return nil, err
	}
	file, err := l.openFile(ctx, &wished)
	if err != nil {
		return nil, err
	}
	projector, err := l.findProjector(ctx, file)
	if err != nil {
		return nil, err
	}
	l.note(file, projector)
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
	chat.ArrangeVocabulary() // for grammars, beside the next steps
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
	s, err := l.newScheduler(ctx, chat, adapters, drafter, media)
	if err != nil {
		return nil, err
	}
	info.Compute.Drafter = drafter.name
	core := &Core{Engine: chat, Scheduler: s, Plugins: plugins.builder,
		Metrics: l.metrics, Broken: l.Broken, remote: remote, halt: func() error { return nil }}
	if core.Model, err = l.served(info, core, adapters, plugins, embeddings, media); err != nil {
		return nil, err
	}
	core.opened = l.opened
	return core, nil
}

// openFile finds the model's file and tries it as it is to be loaded. Where a GPU does not compute
// it, the configuration has none from then on. A head with which the file cannot be served is left
// out of the options.
func (l *loader) openFile(ctx context.Context, o *engine.Options) (*model.File, error) {
	file, err := l.tryFile(ctx, *o)
	if err != nil && o.Model.LoadMTP && context.Cause(ctx) == nil {
		l.log.Warn(withoutHead, slog.Any("error", err))
		o.Model.LoadMTP = false
		file, err = l.tryFile(ctx, *o)
	}
	if err == nil && slices.ContainsFunc([]string{model.Heads, model.Together, model.Selecting}, file.Lacks.Has) {
		o.Model.LoadMTP = false
	}
	if err == nil {
		l.Broken = file.Broken // which has those that it was given
	}
	return file, err
}

// withoutHead tells why a model is served without its head.
const withoutHead = "the model's head guesses no tokens: it cannot be loaded"

func (l *loader) tryFile(ctx context.Context, o engine.Options) (*model.File, error) {
	c := l.config
	remote := len(c.Workers.RPC) > 0
	if remote { // it is tried in a child, which has no connections with workers
		o.Model, o.GPULayers = withoutGPU(o.Model), 0
	}
	file, err := model.Open(ctx, c.Model.Path, model.CheckOptions{
		Folder: c.Models.Dir, Kernels: native.KernelChoice(c.Model.Kernels), GPULayers: o.GPULayers, Workers: remote, Broken: l.Broken, WhileServing: l.WhileServing,
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

// note notes the files of the model for receipts.
func (l *loader) note(file *model.File, p *projector) {
	if l.Receipts == nil {
		return
	}
	l.noted = nil
	for _, path := range file.Parts {
		l.noted = append(l.noted, receipt.Note(receipt.RoleModel, path))
	}
	if p != nil {
		l.noted = append(l.noted, receipt.Note(receipt.RoleProjector, p.path))
	}
	for _, v := range controlVectors(l.config.Model).Vectors {
		l.noted = append(l.noted, receipt.Note(receipt.RoleControlVector, v.Path))
	}
}

// withoutGPU has the CPU alone load what a GPU cannot compute with.
func withoutGPU(o native.ModelOptions) native.ModelOptions {
	o.GPULayers, o.Devices, o.SplitMode, o.TensorSplit = 0, []string{"none"}, "", nil
	return o
}

// openEngine loads the weights and computes a first pass.
func (l *loader) openEngine(ctx context.Context, o engine.Options, file *model.File, remote *remoteModel) (*engine.Engine, error) {
	o.Name, o.Progress = l.Name, l.Progress
	e, err := engine.Open(ctx, completeOptions(o, l.config, file, l.log))
	if err != nil && o.Model.LoadMTP && context.Cause(ctx) == nil {
		l.log.Warn(withoutHead, slog.Any("error", err))
		o.Model.LoadMTP = false
		e, err = engine.Open(ctx, completeOptions(o, l.config, file, l.log))
	}
	if err != nil && remote != nil {
		err = cmp.Or(remote.workers.Lost(), err) // which then is why
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

// strategies are the values of scheduler.strategy.
var strategies = map[string]estimator.Strategy{
	"decode-maximal":   estimator.DecodeMaximal{},
	"prefill-priority": estimator.PrefillPriority{},
	"balanced":         estimator.Balanced{},
}

// newScheduler is what shares the model among requests. The metrics watch it.
func (l *loader) newScheduler(ctx context.Context, e *engine.Engine, adapters *adapter.Registry, d drafter, m *mediaEncoder) (*scheduler.Scheduler, error) {
	c := l.config.Scheduler
	cold, err := l.openTier(ctx, e)
	if err != nil {
		return nil, err
	}
	s, err := scheduler.New(e.Backend(), scheduler.Config{
		Cold:        cold,
		Checkpoints: kvcache.CheckpointOptions{Most: c.CtxCheckpoints, MinStep: c.CheckpointMinStep, Bytes: c.CacheRAM},
		Slots:       c.Slots, QueueLimit: c.MaxQueue, ITLTarget: c.ITLTarget, ArchiveBytes: c.CacheRAM,
		PrefillShare: c.PrefillShare, Strategy: strategies[c.Strategy],
		Log: l.log, Others: l.Passes, ComputeLock: l.ComputeLock, Drafter: d.Drafter, MostDrafted: l.config.Speculation.DraftNMax, Pieces: m.table(),
	})
	if err != nil {
		return nil, fmt.Errorf("set up the scheduler: %w", err)
	}
	s.Listen(l.metrics.Listener())
	l.metrics.Watch(s.Stats, e.Threads, e.PassTimes)
	l.metrics.Picker(telemetry.Picked{Load: s.Load, Adapters: func() int { return len(adapters.List()) }, Names: func(key string) (names []string) {
		set, _ := adapters.Named(key)
		for _, a := range set {
			names = append(names, a.Name)
		}
		return names
	}})
	return s, nil
}

// longestLook is how long a model waits until it is known which conversations the disk has. Mostly
// that was known before its weights were loaded.
const longestLook = time.Second

// openTier opens the part of the disk that has the conversations of the model; nil: there is none.
func (l *loader) openTier(ctx context.Context, e *engine.Engine) (kvcache.Cold, error) {
	if l.Disk == nil {
		return nil, nil
	}
	look, stop := context.WithTimeout(ctx, longestLook)
	defer stop()
	select {
	case <-l.Disk.Known():
	case <-look.Done():
	}
	identity, err := e.StateIdentity()
	if err != nil {
		return nil, fmt.Errorf("find out what conversations on the disk depend on: %w", err)
	}
	tier := l.Disk.Tier(identity, e)
	l.opened = append(l.opened, tier.Close)
	return tier, nil
}

// besideBuiltIn is the configuration for a model that generates nothing, where it asks for what the
// model can do: the built-in model chats beside it, so that a command line for llama-server works.
func besideBuiltIn(c config.Config) (config.Config, bool) {
	switch {
	case c.Model.Path == "" || !isScoring(c) && !c.Embedding.Enabled:
		return c, false
	case isScoring(c):
		c.Rerank.Model = cmp.Or(c.Rerank.Model, c.Model.Path)
	default:
		c.Embedding.Model = cmp.Or(c.Embedding.Model, c.Model.Path)
	}
	c.Model.Path = ""
	return c, true
}

// isScoring reports whether the model that is served is to score documents.
func isScoring(c config.Config) bool { return c.Rerank.Enabled || c.Embedding.Pooling == "rank" }

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

// Core is a loaded model with the scheduler that shares it: a host without a network. Commands that
// answer in the terminal use it alone.
type Core struct {
	Engine    *engine.Engine
	Scheduler *scheduler.Scheduler
	Plugins   *policy.Builder
	Metrics   *telemetry.Metrics
	Model     *serving.Model       // as the API uses it
	Broken    []model.BrokenKernel // kernels that the models of this process have come across

	remote *remoteModel // nil: no workers compute it
	opened closers
	halt   func() error // that of Start; before, nothing runs
}

// Start has the scheduler answer requests until Halt. Of a model that workers compute it keeps up
// the connections with them.
func (c *Core) Start() {
	ctx, stop := context.WithCancel(context.Background())
	var keeper sync.WaitGroup
	if c.remote != nil {
		keeper.Go(func() { c.keepComputing(ctx) })
	}
	stopped := make(chan error, 1)
	go func() { stopped <- c.Scheduler.Run(ctx) }()
	c.halt = sync.OnceValue(func() error {
		stop()
		err := <-stopped
		keeper.Wait()
		return err
	})
}

// Halt ends the scheduler, and with it the answers that are left.
func (c *Core) Halt() error { return c.halt() }

// Lost reports whether a worker is lost, so that nothing computes the model.
func (c *Core) Lost() bool { return c.remote != nil && c.remote.down.Load() }

// Close ends what runs and frees the model.
func (c *Core) Close() error { return errors.Join(c.Halt(), c.opened.Close()) }

// closers are what closes all that was opened, in its order.
type closers []func() error

// Close closes what was opened last first. Closed once, nothing is left to close.
func (c *closers) Close() error {
	var errs []error
	for _, f := range slices.Backward(*c) {
		errs = append(errs, f())
	}
	*c = nil
	return errors.Join(errs...)
}

// describe describes the model to clients and in the log.
func (l *loader) describe(e *engine.Engine, file *model.File, remote *remoteModel, media *mediaEncoder) serving.Info {
	c, info := l.config, infoOf(e, file)
	if remote != nil {
		info.Compute.Workers = remote.workers.describe()
	}
	info.Media, info.Projector = media.abilities(), l.projector
	info.Compute.Slots, info.Compute.Batch, info.Tags = c.Scheduler.Slots, c.Scheduler.BatchSize, c.Model.Tags
	info.Programs = serving.Programs{Branches: c.Programs.Branches, Tokens: c.Programs.Tokens}
	info.Template.Assumed = !e.Info().HasTemplate && c.Chat.Template == "" && c.Chat.TemplateFile == ""
	if len(c.Model.Alias) > 0 {
		info.Aliases = c.Model.Alias
	}
	if info.Compute.Options = c.Changed(); len(info.Compute.Options) > 0 {
		l.log.Info("llama.cpp's options that differ from the defaults", slog.Any("options", info.Compute.Options))
	}
	logKernels(l.log, info.Compute.Kernels)
	return info
}

func infoOf(e *engine.Engine, f *model.File) serving.Info {
	info := e.Info()
	created := time.Now()
	if stat, err := os.Stat(f.Path); err == nil {
		created = stat.ModTime()
	}
	return serving.Info{
		Name: info.Name, Path: f.Path, BuiltIn: f.BuiltIn, Created: created,
		Context: info.Limits.Positions,
		Weights: serving.Weights{Family: info.Architecture, FileType: info.FileType, Training: info.ContextTrain,
			Embedding: info.Embedding, Parameters: info.Parameters, Size: info.Size},
		Vocabulary: serving.Vocabulary{Size: info.Vocabulary, Type: info.VocabType,
			BOS: special(e, info.Special.BOS), EOS: special(e, info.Special.EOS), BOSToken: info.Special.BOS, AddBOS: info.AddBOS, Ends: e.Ends(),
			FIM: serving.FIM{Prefix: info.Special.FIMPrefix, Suffix: info.Special.FIMSuffix, Middle: info.Special.FIMMiddle,
				Repository: info.Special.FIMRepository, Separator: info.Special.FIMSeparator}},
		Template: serving.ChatTemplate{Source: info.Template, WithTools: info.ToolTemplate, Caps: info.TemplateCaps, Thinks: info.Thinks},
		Compute:  serving.Compute{Kernels: kernelsOf(e, f)},
		States:   serving.States{Width: info.Limits.HiddenState, Layers: info.Limits.StateLayers},
	}
}

func special(e *engine.Engine, t int32) string {
	if t < 0 {
		return ""
	}
	return e.Piece(t)
}

// kernelsOf tells which kernels are in use. The layout of the weights shows whose matrix products,
// and the first pass shows whose attention kernel. If no attention kernel of the CPU was called,
// attention consists of products, or the CPU does not compute it.
func kernelsOf(e *engine.Engine, f *model.File) serving.Kernels {
	out := serving.Kernels{Attention: cmp.Or(native.AttentionKernels(), native.PlainKernels.String()), Weights: []serving.WeightKernels{}, Off: []serving.KernelOff{}}
	for _, w := range e.Info().Weights {
		out.Weights = append(out.Weights, serving.WeightKernels{Type: w.Type.String(), Kernels: w.Kernels, Bytes: w.Bytes})
	}
	if f.NoGPU != nil {
		out.NoGPU = f.NoGPU.Error()
	}
	for _, b := range f.Broken {
		out.Off = append(out.Off, serving.KernelOff{Kernel: b.String(), Reason: b.Reason})
	}
	return out
}

// logKernels logs which kernels are in use, and warns of those that are broken.
func logKernels(log *slog.Logger, k serving.Kernels) {
	for _, off := range k.Off {
		log.Warn("a kernel of this CPU is broken and is not used; another computes instead, perhaps more slowly",
			slog.String("kernel", off.Kernel), slog.String("reason", off.Reason))
	}
	if k.NoGPU != "" {
		log.Warn("the GPU is not used, the CPU computes everything: fix its driver, or try fewer --gpu-layers", slog.String("reason", k.NoGPU))
	}
	logLevel(log)
	log.Info("kernels of the CPU: " + k.String())
}

// logLevel logs for which level of CPUs the kernels are, where this build has several.
func logLevel(log *slog.Logger) {
	level, _ := native.Level() // an error has ended the program before
	if len(level.Failed) > 0 {
		log.Warn("this CPU says that it has more than works; kernels for a lower level compute instead, more slowly",
			slog.Any("failed", level.Failed), slog.String("used", level.Used))
	}
	if level.Used != "" {
		log.Info("level of the CPU: "+level.Used, slog.Any("offered", level.Offered), slog.Bool("forced", level.Forced))
	}
}

// served is the model as the API uses it.
func (l *loader) served(info serving.Info, core *Core, adapters *adapter.Registry, p *modelPlugins, e embeddings, media *mediaEncoder) (*serving.Model, error) {
	defaults, err := l.defaults(core.Engine)
	if err != nil {
		return nil, err
	}
	m := &serving.Model{Info: info, Engine: core.Engine, Scheduler: schedulerAdapter{core.Scheduler}, Plugins: core.Plugins, Adapters: adapters,
		Measures: measures{l.metrics, p}, Embeddings: e.vectors, Scores: e.scores, Defaults: defaults}
	if media != nil {
		m.MediaEncoder = media
	}
	if l.Recordings != nil {
		m.Recorder = recording.New(l.Recordings, info.Name, core.Engine.Vocabulary())
	}
	if l.Receipts != nil {
		m.Receipts = &receipt.Issuer{Signer: l.Receipts, Files: l.noted,
			Model: receipt.Model{Name: info.Name, Kernels: info.Compute.Kernels.String(), Options: info.Compute.Options}}
	}
	if path := l.config.Scheduler.SlotSavePath; path != "" {
		saved, err := slotfile.Open(path, core.Engine, core.Scheduler)
		if err != nil {
			return nil, fmt.Errorf("scheduler.slot_save_path: %w", err)
		}
		l.opened = append(l.opened, saved.Close)
		m.Conversations = saved
	}
	return m, nil
}

// defaults are what requests get that do not say otherwise.
func (l *loader) defaults(e *engine.Engine) (serving.Defaults, error) {
	c := l.config
	values, err := l.sampling(e)
	return serving.Defaults{
		Sampling:     values,
		Thinking:     &sampling.Thinking{Budget: c.Chat.ReasoningBudget, Message: c.Chat.ReasoningMessage},
		Schemas:      sampling.SchemaOptions(c.Schema.PropertyOrder, c.Schema.AdditionalProperties, c.Schema.WhiteSpace),
		MaxTokens:    max(c.Scheduler.NPredict, 0),
		ContextShift: c.Scheduler.ContextShift,
		ShiftKeep:    c.Scheduler.Keep,
	}, err
}

// schedulerAdapter turns a scheduler into a serving.Scheduler: its streams become interfaces.
type schedulerAdapter struct{ *scheduler.Scheduler }

// SubmitBuilt implements serving.Scheduler.
func (s schedulerAdapter) SubmitBuilt(caller string, n int, build func() ([]scheduler.Request, error)) ([]serving.Stream, error) {
	all, err := s.Scheduler.SubmitBuilt(caller, n, build)
	out := make([]serving.Stream, len(all))
	for i, st := range all {
		out[i] = st
	}
	return out, err
}

// measures are what the metrics of a model have counted.
type measures struct {
	metrics *telemetry.Metrics
	plugins *modelPlugins
}

// InterTokenLatency implements serving.Measures.
func (m measures) InterTokenLatency() serving.Histogram {
	bounds, counts, sum := m.metrics.InterTokenLatency()
	return serving.Histogram{Bounds: bounds, Counts: counts, Sum: sum}
}

// Plugins implements serving.Measures.
func (m measures) Plugins() []serving.PluginMeasures {
	totals := m.plugins.metrics.Totals()
	var all []serving.PluginMeasures
	for _, i := range m.plugins.List() {
		t := totals[i.Name]
		all = append(all, serving.PluginMeasures{Name: i.Name, State: string(i.StateWith(m.plugins.model.Name())), Calls: t.Calls, Time: t.Time, Faults: t.Faults})
	}
	return all
}
