// SPDX-License-Identifier: MIT

package loading

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/host/plugin/registry"
	"github.com/penstock/penstock/host/telemetry"
	"github.com/penstock/penstock/native"
)

// plugins are the plugins of the configured folder, with the loader that loaded them.
type plugins struct {
	loader   *load.Loader
	registry *registry.Registry
	metrics  *telemetry.PluginMetrics
	stop     context.CancelFunc
	stopped  chan struct{} // closed when the folder is not watched any more
}

// openPlugins loads the configured folder and watches it.
func (l *loader) openPlugins(ctx context.Context, e *engine.Engine) (*plugins, error) {
	c, log := l.config.Plugins, l.log
	limits := plugin.DefaultLimits()
	limits.Memory = c.Memory
	observer := l.metrics.Plugins()
	loader := load.New(plugin.Options{
		Model: identityOf(e, log), Limits: limits, Vocabulary: e.Vocabulary(), Grammars: grammars{e}, TopK: highest, FirstInvalid: native.FirstInvalid,
		Observer: observer, Log: log.With(slog.String("from", "plugin")), LogLines: c.Log, CacheDir: codeCache(log),
	})
	l.metrics.PluginMemory(loader.MemoryUse)
	lock, err := plugin.NewLock(c.Lock)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("plugins.lock: %w", err), loader.Close(ctx))
	}
	registry, err := registry.Open(ctx, loader, c.Dir, lock, log)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the plugins in %s (plugins.dir): %w", c.Dir, err), loader.Close(ctx))
	}
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	p := &plugins{loader: loader, registry: registry, metrics: observer, stop: stop, stopped: make(chan struct{})}
	l.opened = append(l.opened, p.Close)
	go func() {
		registry.Watch(watching)
		close(p.stopped)
	}()
	for _, name := range c.Default {
		m, err := registry.Find(name)
		if err != nil {
			return nil, fmt.Errorf("plugins.default: %w", err)
		}
		m.Release()
	}
	return p, nil
}

// grammars compiles grammars for plugins with llama.cpp.
type grammars struct{ engine *engine.Engine }

// Open implements plugin.Grammars.
func (g grammars) Open(kind int32, text string) (plugin.Grammar, error) {
	compiled, err := g.engine.NewGrammar(kind, text)
	if err != nil {
		return nil, err
	}
	return compiled, nil
}

// identityOf is what plugins are told of the model. A file that was moved away after it was loaded
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

// highest is plugin.TopK in native code: it searches the row with SIMD.
func highest(row []float32, k int, ids []int32, logits []float32) int {
	return native.TopLogits(row, ids[:k], logits[:k])
}

// codeCache is the folder of compiled plugins; if the system names no place for one, it is "" and
// plugins are compiled anew.
func codeCache(log *slog.Logger) string {
	dir, err := os.UserCacheDir()
	if err != nil {
		log.Info("compiled plugins are not kept", slog.Any("because", err))
		return ""
	}
	return filepath.Join(dir, "penstock", "code")
}

// closeTime bounds how long Close waits for the last guests. Their fuel ends them sooner.
const closeTime = 15 * time.Second

// Close ends all plugins. No request may be running.
func (p *plugins) Close() error {
	p.stop()
	<-p.stopped
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	return errors.Join(p.registry.Close(), p.loader.Close(ctx))
}
