// SPDX-License-Identifier: MIT

package loading

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/registry"
	"github.com/penstock/penstock/host/policy"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/host/telemetry"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/plugins/script"
)

// Plugins serves all models of a server: one folder, each module compiled once, and one budget of
// memory, whatever models they are used with.
type Plugins struct {
	*registry.Registry
	loader   *load.Loader
	attached func() []policy.Attached
	stop     context.CancelFunc
	stopped  chan struct{} // closed when the folder is not watched any more
}

// OpenPlugins loads the configured folder and watches it. It needs no model.
func OpenPlugins(ctx context.Context, all config.Config, log *slog.Logger) (*Plugins, error) {
	c, limits := all.Plugins, plugin.DefaultLimits()
	limits.Memory, limits.ProgramFuel = c.Memory, int64(all.Programs.Fuel)
	loader := load.New(plugin.HostOptions{
		Limits: limits, TopK: highestLogits, FirstInvalid: native.FirstInvalid,
		Log: log.With(slog.String("from", "plugin")), LogLines: c.Log, CacheDir: CodeCache(log), Interpreter: script.Module,
	})
	lock, err := plugin.NewLock(c.Lock)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("plugins.lock: %w", err), loader.Close(ctx))
	}
	options := registry.Options{Dir: c.Dir, Lock: lock, Scripts: all.Scripts() != config.CodeOff, Log: log}
	options.Bundled, options.Later = BundledPlugins(c.Bundled)
	if c.Modules != config.CodeOff {
		options.ModuleLife = c.ModuleTTL
	}
	registry, err := registry.Open(ctx, loader, options)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the plugins in %s (plugins.dir): %w", c.Dir, err), loader.Close(ctx))
	}
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	p := &Plugins{Registry: registry, loader: loader, stop: stop, stopped: make(chan struct{})}
	go func() {
		registry.Watch(watching)
		close(p.stopped)
	}()
	known := policy.Known{Model: func(name string) string { // a server reads them again, with all its models
		if slices.Contains(all.Model.Alias, name) {
			return NameOf(all.Model)
		}
		return name
	}}
	attached, err := p.ReadPolicies(c, known)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	p.Attach(func() []policy.Attached { return attached })
	return p, nil
}

// ReadPolicies reads which plugins the operator attaches to requests: those of plugins.default and
// of the file of policies.
func (p *Plugins) ReadPolicies(c config.Plugins, known policy.Known) ([]policy.Attached, error) {
	known.Registry = p.Registry
	return policy.Read(c.Default, c.PolicyFile, known)
}

// Attach has models loaded from now on use what attached says for each request.
func (p *Plugins) Attach(attached func() []policy.Attached) { p.attached = attached }

// MemoryUse tells how many bytes all plugins at work have together, and how many they may have.
func (p *Plugins) MemoryUse() (used, limit int64) { return p.loader.MemoryUse() }

// modelPlugins are the plugins as the model uses them.
type modelPlugins struct {
	*Plugins
	model   *load.Model
	builder *policy.Builder
	metrics *telemetry.PluginMetrics
}

// Policies are what clients are told of the policies that hold for a key's requests for a model.
func (p *Plugins) Policies(model, key string) (told []serving.PolicyInfo) {
	return policy.Tell(p.attached(), p.digestOf, func(a *policy.Attached) bool { return a.HoldsFor(model, key) })
}

// PoliciesOf are what clients are told of those of a plugin, whoever asks.
func (p *Plugins) PoliciesOf(name string) (told []serving.PolicyInfo) {
	return policy.Tell(p.attached(), p.digestOf, func(a *policy.Attached) bool { return a.Plugin == name })
}

// digestOf is the SHA-256 of a plugin's module; "": it is not there.
func (p *Plugins) digestOf(name string) string {
	found, err := p.Find(context.Background(), name)
	if err != nil {
		return ""
	}
	defer found.Release()
	return found.SHA256
}

// usePlugins has the plugins of the server be used with the model. Those that the operator attaches
// to its requests have to work with it.
func (l *loader) usePlugins(ctx context.Context, e *engine.Engine) (*modelPlugins, error) {
	if l.Plugins == nil {
		own, err := OpenPlugins(ctx, l.config, l.log)
		if err != nil {
			return nil, err
		}
		l.Plugins = own
		l.opened = append(l.opened, own.Close)
	}
	p := &modelPlugins{Plugins: l.Plugins, metrics: l.metrics.Plugins()}
	var err error
	p.model, err = p.Model(ctx, plugin.ModelOptions{Model: identityOf(e, l.log), Vocabulary: e.Vocabulary(), Grammars: grammars{e}, Observer: p.metrics,
		Alone: l.ComputeLock == nil})
	if err != nil {
		return nil, err
	}
	l.opened = append(l.opened, p.closeModel)
	p.builder = policy.New(e, p.Registry, p.model, cmp.Or(l.Called, l.Name), p.attached)
	return p, p.builder.CheckAttached(ctx)
}

// closeModel ends the use of the plugins with the model. No request may be running.
func (p *modelPlugins) closeModel() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	return p.model.Close(ctx)
}

// grammars reads grammars for plugins.
type grammars struct{ engine *engine.Engine }

// Open implements plugin.Grammars.
func (g grammars) Open(ctx context.Context, client string, kind int32, text string) (plugin.Grammar, uint64, error) {
	compiled, work, err := g.engine.NewGrammar(sampling.WithSalt(ctx, client), kind, text)
	if err != nil {
		return nil, work, err
	}
	return compiled, work, nil
}

// identityOf is what plugins learn about the model. A file that was moved away after it was loaded
// has no digest.
func identityOf(e *engine.Engine, log *slog.Logger) plugin.Model {
	digest, err := e.Identity()
	if err != nil {
		log.Warn("plugins are told no digest of the model", "error", err)
	}
	info := e.Info()
	return plugin.Model{
		Name: info.Name, Architecture: info.Architecture, Description: info.ModelInfo.Name, Digest: digest, Parameters: info.Parameters, SizeBytes: info.Size,
		VocabularySize: info.Vocabulary, ContextTrain: info.ContextTrain, EmbeddingSize: info.Embedding, Layers: info.Layers,
	}
}

// highestLogits is plugin.TopK in native code: it searches the row with SIMD.
func highestLogits(row []float32, k int, ids []int32, logits []float32) int {
	return native.TopLogits(row, ids[:k], logits[:k])
}

// CodeCache is the user's folder of compiled plugins; if the system names no place for one, it is
// "" and plugins are compiled again.
func CodeCache(log *slog.Logger) string {
	dir, err := os.UserCacheDir()
	if err != nil {
		log.Info("compiled plugins are not kept", slog.Any("because", err))
		return ""
	}
	return filepath.Join(dir, "penstock", "code")
}

// BundledPlugins is the folder that plugins.bundled means, and whether it may be missing; "": the
// server comes with no plugins.
func BundledPlugins(setting string) (dir string, mayMiss bool) {
	switch setting {
	case "auto":
	case "off":
		return "", true
	default:
		return setting, false
	}
	program, err := os.Executable()
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	if err != nil {
		return "", true
	}
	return filepath.Join(filepath.Dir(program), "..", "share", "penstock", "plugins"), true
}

// closeTime bounds how long is waited for the last guests. Their fuel ends them sooner.
const closeTime = 15 * time.Second

// Close ends all plugins. No model may be loaded any more.
func (p *Plugins) Close() error {
	p.stop()
	<-p.stopped
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	return errors.Join(p.Registry.Close(), p.loader.Close(ctx))
}

// OwnPlugin is a plugin that a program uses in a request of its own. It is one of the folders
// plugins.dir and plugins.bundled, by its Name, or it is what Module or Script has.
type OwnPlugin struct {
	Name   string `json:"name,omitempty"`   // of a Module or a Script: what it is called in the request; "": the usual
	Module []byte `json:"-"`                // WebAssembly; the model keeps at most 16 for an hour after their last use
	Script string `json:"script,omitempty"` // JavaScript
	Config any    `json:"config,omitempty"`
	Skip   bool   `json:"-"` // after a fault the answer goes on without the plugin
}

// Entries are plugins of a program as the API has them. Modules that are new are loaded.
func (p *Plugins) Entries(ctx context.Context, plugins []OwnPlugin) (json.RawMessage, error) {
	type entry struct {
		OwnPlugin
		Module  string `json:"module,omitempty"`
		OnError string `json:"on_error,omitempty"`
	}
	list := make([]entry, len(plugins))
	for i, own := range plugins {
		if list[i].OwnPlugin = own; own.Skip {
			list[i].OnError = "skip"
		}
		if own.Module == nil {
			continue
		}
		info, _, err := p.Modules.Upload(ctx, "", own.Module)
		if err != nil {
			return nil, &refusal.PluginFault{RequestError: refusal.RequestError{Code: "module_invalid", Field: "plugins", Message: plugin.Told(err), Err: err}}
		}
		list[i].Module = "sha256:" + info.SHA256
	}
	return json.Marshal(list)
}
