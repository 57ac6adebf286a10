// SPDX-License-Identifier: MIT

package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/diskcache"
	"github.com/penstock/penstock/host/hub"
	"github.com/penstock/penstock/host/library"
	"github.com/penstock/penstock/host/loading"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/model"
	"github.com/penstock/penstock/host/pausing"
	"github.com/penstock/penstock/host/receipt"
	"github.com/penstock/penstock/host/recording"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/residency"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/telemetry"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler"
)

// models are those that a host serves: the one of the section model, those that the section models
// names, and if models.dir is set, all of that folder. It is a serving.Models.
type models struct {
	config      config.Config
	log         *slog.Logger
	library     *library.Library
	computeLock *scheduler.ComputeLock // nil: one model has the machine for itself
	passes      *pausing.Passes        // of all models, beside the ticks of their schedulers
	plugins     *loading.Plugins       // of the server
	recordings  *recording.Store       // nil: no request is recorded
	receipts    *receipt.Signer        // nil: there are none
	disk        *diskcache.Store       // nil: no conversations are on a disk
	first       string                 // name of the one of the section model; empty: there is none
	set         *residency.Set[*loading.Core]
	progress    func(done float32)         // of the first model's first load
	remembered  atomic.Pointer[firstModel] // nil: it was never loaded

	broken []model.BrokenKernel // that models have come across; used while one is loaded, which is one at a time
}

var _ serving.Models = (*models)(nil)

// firstModel is what is known of the first model while it is unloaded.
type firstModel struct {
	serving.Info
	embedsOnly bool
}

func newModels(c config.Config, log *slog.Logger, plugins *loading.Plugins, receipts *receipt.Signer, disk *diskcache.Store, progress func(done float32)) *models {
	m := &models{config: c, log: log, passes: pausing.NewPasses(), plugins: plugins, library: library.Open(c.Models.Dir), progress: progress,
		recordings: openRecordings(c.Recordings, receipts, log), receipts: receipts, disk: disk}
	if !m.hasSeveral() || c.Model.Path != "" || c.Embedding.Model != "" || c.Rerank.Model != "" { // which the first model has beside it
		m.first = loading.NameOf(c.Model)
	}
	if m.hasSeveral() || m.servesPair() {
		m.computeLock = scheduler.NewComputeLock()
	}
	if err := hub.RemoveLeftovers(m.library.Folder); err != nil {
		log.Warn("what pulls that were killed left in the model folder stays there", slog.Any("error", err))
	}
	budget := uint64(c.Models.Memory)
	if budget == 0 {
		budget = model.AvailableMemory() / 10 * 9
	}
	m.set = residency.New(residency.Options[*loading.Core]{
		Load: m.load, Need: m.estimateNeed, Available: model.AvailableMemory, Budget: budget, Most: c.Models.Max, Idle: c.Models.Idle,
		Keeps: func(name string) bool { return name == m.first }, KeptIdle: c.Models.IdleMain, Queue: c.Scheduler.MaxQueue, Log: log,
		Rest: returnMemory,
	})
	return m
}

// hasSeveral reports whether requests choose among models.
func (m *models) hasSeveral() bool {
	return m.config.Models.Dir != "" || len(m.config.NamedModels()) > 0
}

// settings returns the configuration of a model, by its true name.
func (m *models) settings(name string) config.Config {
	if name == m.first {
		return m.config
	}
	return m.config.ForModel(name)
}

// names are the true names, the first model's first.
func (m *models) names() []string {
	var names []string
	if m.first != "" {
		names = append(names, m.first)
	}
	others := m.config.NamedModels()
	if m.config.Models.Dir != "" {
		others = append(others, m.library.Names()...)
	}
	if m.servesPair() {
		others = append(others, model.BuiltInVisionName)
	}
	slices.Sort(others)
	for _, name := range slices.Compact(others) {
		if name != m.first {
			names = append(names, name)
		}
	}
	return names
}

// find gives the true name of the model that a client means.
func (m *models) find(name string) (string, error) {
	if name == "" {
		return m.defaultModel()
	}
	if known := m.trueName(name); known != "" {
		return known, nil
	}
	if m.hasSeveral() || m.config.Model.Strict {
		return "", serving.UnknownModel(name, m.names()...)
	}
	return m.first, nil
}

// trueName gives the true name of the model that has a name; empty: none has it.
func (m *models) trueName(name string) string {
	if _, loaded := m.set.Loaded(name); loaded || name == m.first {
		return name
	}
	if m.isFirst(name) {
		return m.first
	}
	tagged := strings.TrimSuffix(name, ":latest") // as clients of Ollama name it; that a model is loaded is known without its file
	if _, loaded := m.set.Loaded(tagged); loaded {
		return tagged
	}
	names, named := m.names(), m.config.NamedModels()
	if m.first != "" {
		named = append(named, m.first)
	}
	for _, wanted := range []string{name, tagged} {
		if slices.Contains(names, wanted) {
			return wanted
		}
		for _, known := range named {
			if slices.Contains(m.settings(known).Model.Alias, wanted) {
				return known
			}
		}
	}
	return ""
}

// isFirst reports whether a name is another one of the first model: its own beside a model that
// only embeds, or that of the model for embeddings or scores beside it.
func (m *models) isFirst(name string) bool {
	first := m.remembered.Load()
	if first == nil {
		return false
	}
	beside := func(path string) bool { return path != "" && loading.NameOf(config.Model{Path: path}) == name }
	return first.Name == name || slices.Contains(first.Aliases, name) || beside(m.config.Embedding.Model) || beside(m.config.Rerank.Model)
}

// defaultModel is the model of requests that name none: the first one, or the only one.
func (m *models) defaultModel() (string, error) {
	if m.first != "" {
		return m.first, nil
	}
	names := m.names()
	if len(names) == 1 {
		return names[0], nil
	}
	if len(names) == 0 {
		return "", &refusal.Error{Kind: refusal.KindNotFound, Code: "model_not_found", Field: "model",
			Message: "this server has no model yet: penstock model pull fetches one into " + m.library.Folder}
	}
	return "", refusal.Invalid("model", "model is missing; this server has %s", strings.Join(names, ", "))
}

// Use implements serving.Models.
func (m *models) Use(ctx context.Context, name string) (*serving.Model, func(), error) {
	known, err := m.find(name)
	if err != nil {
		return nil, nil, err
	}
	r, release, err := m.set.Use(ctx, known)
	if err != nil {
		return nil, nil, loadError(ctx, known, err)
	}
	return r.Model, release, nil
}

// Loaded implements serving.Models.
func (m *models) Loaded(name string) (*serving.Model, func(), error) {
	known, err := m.find(name)
	if err != nil {
		return nil, nil, err
	}
	r, release, ok := m.set.Hold(known)
	if !ok {
		return nil, nil, serving.NotLoaded(known)
	}
	return r.Model, release, nil
}

// loadError tells what it means for a client that a model is not loaded. A request that cannot
// succeed is refused so that clients do not try again.
func loadError(ctx context.Context, name string, err error) error {
	refused := serving.NotLoadable(name, err)
	switch {
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return refusal.ErrGone
	case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		return err
	case errors.Is(err, residency.ErrClosed):
		return scheduler.ErrClosed
	case errors.Is(err, residency.ErrBusy), errors.Is(err, residency.ErrQueue):
		refused.Kind, refused.Code, refused.Retry = refusal.KindBusy, "models_busy", 5
	}
	return refused
}

// Unload implements serving.Models.
func (m *models) Unload(name string) error {
	known, err := m.find(name)
	if err != nil {
		return err
	}
	if known == m.first && m.config.Models.IdleMain == 0 {
		return &refusal.Error{Kind: refusal.KindConflict, Code: "model_kept", Field: "model",
			Message: "the model " + known + " is the one that --model names; it stays loaded"}
	}
	err = m.set.Unload(known)
	if errors.Is(err, residency.ErrInUse) {
		return &refusal.Error{Kind: refusal.KindInUse, Code: "model_in_use", Field: "model", Retry: 5, Message: err.Error()}
	}
	if errors.Is(err, residency.ErrClosed) {
		return scheduler.ErrClosed
	}
	return err
}

// List implements serving.Models.
func (m *models) List() []serving.Listed {
	var list []serving.Listed
	for _, name := range m.names() {
		list = append(list, m.listed(name))
	}
	return list
}

// listed describes a model by its files and, once it is loaded, by what llama.cpp reports about it.
func (m *models) listed(name string) serving.Listed {
	status := m.set.Status(name)
	l := serving.Listed{Info: serving.Info{Name: name}, State: string(status.State), Failed: status.Err}
	about, err := m.library.Model(m.settings(name).Model.Path)
	if m.servesPair() && name == model.BuiltInVisionName {
		l.Info = builtInVision()
	} else if err == nil {
		l.Info = serving.Info{Name: name, Path: about.Files[0], Created: about.Modified,
			Weights: weightsOf(about.Details), Vocabulary: serving.Vocabulary{Size: about.Vocabulary}}
		l.Digest = about.Digest
		l.Media, l.Projector = m.reads(name, about.Files[0])
		if status.State == residency.Unloaded {
			m.foretell(&l.Info, about)
		}
	} else if l.Failed == nil && name != m.first {
		l.Failed = err
	}
	if r, loaded := m.set.Loaded(name); loaded && !r.Model.EmbedsOnly { // whose Info is that of the built-in model beside it
		l.Info = r.Model.Info
	} else if first := m.remembered.Load(); !loaded && name == m.first && first != nil && !first.embedsOnly {
		l.Info, l.Context = first.Info, 0
	}
	l.Aliases = m.settings(name).Model.Alias
	if l.Digest == "" {
		l.Digest = l.Info.Digest()
	}
	return l
}

// weightsOf is what a file says that is not loaded.
func weightsOf(d library.Details) serving.Weights {
	return serving.Weights{Family: d.Architecture, FileType: d.Quantisation, Training: d.Context, Embedding: d.Embedding,
		Parameters: d.Parameters, Size: d.Weights}
}

// foretell says of a model that is not loaded what its chat template is and makes use of.
func (m *models) foretell(i *serving.Info, about library.Model) {
	c := m.settings(i.Name).Chat
	t := &i.Template
	t.Source = cmp.Or(model.CheckOptions{Template: c.Template, TemplateFile: c.TemplateFile}.TemplateOf(about.Files[0]), about.ChatTemplate)
	tools, thinks := model.Uses(t.Source)
	t.Caps, t.Thinks = map[string]bool{"supports_tools": tools}, thinks
}

// metrics returns the metrics of the models that are loaded.
func (m *models) metrics() (list []*telemetry.Metrics) {
	for _, r := range m.set.All() {
		list = append(list, r.Metrics)
	}
	return list
}

// drain has the schedulers take no more requests, waits until their answers have ended or time is
// up, and ends what is left, which it counts.
func (m *models) drain(timeUp <-chan struct{}) (left int, _ error) {
	m.set.Stop()
	running := m.set.All()
	for _, r := range running {
		r.Scheduler.Drain()
	}
	for _, r := range running {
		select {
		case <-r.Scheduler.Drained():
			continue
		case <-timeUp:
		}
		break
	}
	var errs []error
	for _, r := range running {
		left += r.Scheduler.Stats().Running
		errs = append(errs, r.Halt())
	}
	return left, errors.Join(errs...)
}

// Residents implements serving.Models.
func (m *models) Residents() []serving.Resident {
	var list []serving.Resident
	for _, p := range m.set.Present() {
		r := serving.Resident{Name: p.Name, Waiting: p.Waiting}
		if p.State == residency.Loaded {
			r.Model = p.Loaded.Model
			r.Name = r.Model.Name
		}
		list = append(list, r)
	}
	return list
}

// openDisk opens the folder of conversations; nil: there is none.
func openDisk(c config.Config, log *slog.Logger) (*diskcache.Store, error) {
	if c.Server.CacheDisk == 0 {
		return nil, nil
	}
	dir := c.Server.CacheDiskDir
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("server.cache_disk needs a folder: set server.cache_disk_dir: %w", err)
		}
		dir = filepath.Join(cache, "penstock", "conversations")
	}
	s, err := diskcache.Open(diskcache.Options{Dir: dir, Bytes: c.Server.CacheDisk, KeyFile: c.Server.CacheDiskKeyFile, Memory: c.Scheduler.CacheRAM / 4, Log: log})
	if err != nil {
		return nil, fmt.Errorf("open the folder of conversations (server.cache_disk_dir, server.cache_disk_key_file): %w", err)
	}
	return s, nil
}

// openRecordings opens the folder of recordings; nil: no request is recorded.
func openRecordings(c config.Recordings, receipts *receipt.Signer, log *slog.Logger) *recording.Store {
	if !c.Enabled {
		return nil
	}
	dir := c.Dir
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			log.Info("no request is recorded: set recordings.dir", slog.Any("because", err))
			return nil
		}
		dir = filepath.Join(cache, "penstock", "recordings")
	}
	s := recording.Open(dir, recording.Limits{Size: c.Size, Keep: c.Keep, KeepFor: c.KeepFor}, log)
	if receipts != nil {
		s.SealWith(receipts.Key)
	}
	return s
}

// load loads a model with its settings and lets its scheduler run.
func (m *models) load(ctx context.Context, name string) (*loading.Core, error) {
	c := m.settings(name)
	about, err := m.library.Model(c.Model.Path)
	embedsOnly := err == nil && about.Encoder && m.hasSeveral()
	if embedsOnly {
		c.Embedding.Enabled = true // it can do nothing else
	}
	o := loading.Options{Called: name, ComputeLock: m.computeLock, Passes: m.passes, Recordings: m.recordings, Receipts: m.receipts, Disk: m.disk, Plugins: m.plugins, Broken: m.broken, WhileServing: len(m.set.All()) > 0}
	if m.hasSeveral() {
		o.Name = name
	}
	if name == m.first {
		o.Progress, m.progress = m.progress, nil
	}
	begin := time.Now()
	core, err := loading.Open(ctx, c, m.log, o)
	if err != nil {
		return nil, err
	}
	if !o.WhileServing {
		returnMemory() // of which loading takes more than serving
	}
	m.broken = core.Broken
	core.Model.EmbedsOnly = embedsOnly
	if name == m.first {
		m.remembered.Store(&firstModel{core.Model.Info, embedsOnly})
	}
	m.log.Info("model loaded", slog.String("model", name), slog.Uint64("parameters", core.Model.Weights.Parameters), slog.Int("context", core.Model.Context),
		slog.Int("slots", core.Model.Compute.Slots), slog.Duration("took", time.Since(begin).Round(time.Millisecond)))
	core.Start()
	return core, nil
}

// returnMemory gives memory that is free in the process back to the system, C's and Go's. It costs
// a garbage collection, some milliseconds of a processor, so it is for times of rest.
func returnMemory() {
	native.ReturnMemory()
	debug.FreeOSMemory()
}

// estimateNeed tells how much main memory a model will take. What cannot be read needs none:
// loading it will say what is wrong.
func (m *models) estimateNeed(ctx context.Context, name string) uint64 {
	c := m.settings(name)
	about, err := m.library.Model(c.Model.Path)
	if err != nil {
		return 0
	}
	p, err := loading.Plan(ctx, c, about.Files[0], m.set.Budget)
	if err != nil {
		return 0
	}
	return p.Need.Main().Used()
}

// usualRate is the rate of sounds that most projectors want, in Hz. Which one a projector wants is
// known once it is loaded.
const usualRate = 16000

// reads is what a model takes besides text, by the header of its projector's file, before anything
// is loaded.
func (m *models) reads(name, path string) (can media.Abilities, with serving.Projector) {
	c := m.settings(name)
	with.Path = c.Model.MMProj
	if with.Path == "" && c.Model.MMProjAuto {
		with.Path = library.ProjectorOf(path)
	}
	if with.Path == "" || len(c.Workers.RPC) > 0 {
		return can, serving.Projector{}
	}
	p, err := m.library.Projector(with.Path)
	if err != nil {
		with.Unused = err.Error()
		return can, with
	}
	if can.Images, with.Kinds = p.Vision != "", p.Kinds(); p.Audio != "" {
		can.AudioRate = usualRate
	}
	return can, with
}

// Seeing implements serving.Models. A client that names no model that is here leaves the choice to
// the server: the first one that sees.
func (m *models) Seeing(name string) string {
	if name != "" && (m.hasSeveral() || m.config.Model.Strict || m.trueName(name) != "") {
		return name
	}
	for _, known := range m.names() {
		if m.listed(known).Media.Images {
			return known
		}
	}
	return name
}

// servesPair reports whether both built-in models are served, since no model is configured: the one
// that reads text from the start, and the one that sees once a request asks for it.
func (m *models) servesPair() bool {
	c := m.config
	return !m.hasSeveral() && c.Model.Path == "" && c.Model.MMProj == "" && c.Model.MMProjAuto && len(c.Workers.RPC) == 0
}

// builtInVision describes the built-in model that sees while it is not loaded.
var builtInVision = sync.OnceValue(func() serving.Info {
	info := serving.Info{Name: model.BuiltInVisionName, BuiltIn: true, Media: media.Abilities{Images: true}}
	if h, err := model.BuiltInHeader(model.BuiltInVisionName); err == nil { // a test reads it
		d := library.DetailsOf(h)
		info.Weights, info.Vocabulary.Size = weightsOf(d), d.Vocabulary
	}
	return info
})
