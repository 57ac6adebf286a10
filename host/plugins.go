// SPDX-License-Identifier: MIT

package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/penstock/penstock/host/api"
	"github.com/penstock/penstock/host/config"
	"github.com/penstock/penstock/host/engine"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/telemetry"
	"github.com/penstock/penstock/native"
)

// Plugins are the plugins of a host, at work on its model. It is an api.Plugins.
type Plugins struct {
	engine   *engine.Engine
	runtime  *plugin.Runtime
	registry *plugin.Registry
	defaults []string // names of those that every request uses

	stop    context.CancelFunc
	stopped chan struct{} // closed when the folder is not watched any more
}

var _ api.Plugins = (*Plugins)(nil)

// openPlugins loads the configured folder and watches it.
func openPlugins(ctx context.Context, c config.Config, e *engine.Engine, metrics *telemetry.Metrics, log *slog.Logger) (*Plugins, error) {
	limits := plugin.DefaultLimits()
	limits.Memory = c.Plugins.Memory
	observer := metrics.Plugins()
	runtime, err := plugin.NewRuntime(ctx, plugin.Options{
		Limits: limits, Vocabulary: e.Words(), Grammars: grammars{e}, TopK: highest, Observer: observer, Log: log.With(slog.String("from", "plugin")), CacheDir: codeCache(log),
	})
	if err != nil {
		return nil, fmt.Errorf("set up plugins: %w", err)
	}
	metrics.PluginMemory(runtime.Memory)
	registry, err := plugin.OpenRegistry(ctx, runtime, c.Plugins.Dir, log)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the plugins in %s (plugins.dir): %w", c.Plugins.Dir, err), runtime.Close(ctx))
	}
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	p := &Plugins{engine: e, runtime: runtime, registry: registry, defaults: c.Plugins.Default, stop: stop, stopped: make(chan struct{})}
	go func() {
		registry.Watch(watching)
		close(p.stopped)
	}()
	for _, name := range p.defaults {
		m, err := registry.Find(name)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("plugins.default: %w", err), p.Close())
		}
		m.Release()
	}
	return p, nil
}

// highest is llama.cpp's side of plugin.TopK: the row is searched with SIMD.
func highest(row []float32, k int, ids []int32, logits []float32) int {
	return native.Highest(row, ids[:k], logits[:k])
}

// codeCache is the folder of compiled plugins; where the system names no place for one, plugins are compiled anew.
func codeCache(log *slog.Logger) string {
	dir, err := os.UserCacheDir()
	if err != nil {
		log.Info("compiled plugins are not kept", slog.Any("because", err))
		return ""
	}
	return filepath.Join(dir, "penstock", "code")
}

// closeTime is how long the last guests may take to come to their ends. Their fuel lets none take as long.
const closeTime = 15 * time.Second

// Close ends all plugins. No request may be running.
func (p *Plugins) Close() error {
	p.stop()
	<-p.stopped
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	return errors.Join(p.registry.Close(), p.runtime.Close(ctx))
}

// List implements api.Plugins.
func (p *Plugins) List() []api.PluginInfo {
	list := []api.PluginInfo{}
	for _, i := range p.registry.List() {
		list = append(list, p.info(i))
	}
	return list
}

// Get implements api.Plugins.
func (p *Plugins) Get(name string) (api.PluginInfo, error) {
	i, err := p.registry.Get(name)
	return p.info(i), told(err, "name")
}

// Upload implements api.Plugins.
func (p *Plugins) Upload(ctx context.Context, wasm []byte) (api.PluginInfo, bool, error) {
	i, created, err := p.registry.Upload(ctx, wasm)
	return p.info(i), created, told(err, "")
}

// Remove implements api.Plugins.
func (p *Plugins) Remove(ctx context.Context, name string) error {
	if slices.Contains(p.defaults, name) {
		return &api.Error{Status: http.StatusConflict, Code: "plugin_in_use", Type: "invalid_request_error", Param: "name",
			Message: fmt.Sprintf("every request uses plugin %q (plugins.default); it can be replaced, not removed", name)}
	}
	return told(p.registry.Remove(ctx, name), "name")
}

// Reset implements api.Plugins.
func (p *Plugins) Reset(name string) (api.PluginInfo, error) {
	i, err := p.registry.Reset(name)
	return p.info(i), told(err, "name")
}

func (p *Plugins) info(i plugin.Info) api.PluginInfo {
	info := api.PluginInfo{
		Name: i.Name, SHA256: i.SHA256, State: string(i.State), Exports: i.Exports, File: i.File, Error: i.Error,
		Faults: i.Faults, LastFault: i.LastFault, Default: slices.Contains(p.defaults, i.Name),
	}
	if i.Manifest != nil {
		info.Manifest, _ = json.Marshal(i.Manifest) // it was read from JSON
	}
	return info
}

// told turns what is wrong with a module or a name into the API's terms.
func told(err error, param string) error {
	status, code := http.StatusUnprocessableEntity, "invalid_plugin"
	var fault *plugin.Fault
	var refusal *plugin.Refusal
	switch {
	case err == nil:
		return nil
	case errors.Is(err, plugin.ErrUnknown):
		status, code = http.StatusNotFound, "plugin_not_found"
	case errors.Is(err, plugin.ErrBusy):
		return &api.Error{Status: http.StatusServiceUnavailable, Code: "busy", Type: "unavailable_error", Param: param, Message: err.Error(), Retry: 1}
	case errors.Is(err, plugin.ErrTooLarge):
		status, code = http.StatusRequestEntityTooLarge, "plugin_too_large"
	case errors.Is(err, plugin.ErrNotWasm):
		status, code = http.StatusBadRequest, "not_wasm"
	case errors.As(err, &fault), errors.As(err, &refusal), errors.Is(err, plugin.ErrUnsupported), errors.Is(err, plugin.ErrVersion),
		errors.Is(err, plugin.ErrImport), errors.Is(err, plugin.ErrExport), errors.Is(err, plugin.ErrManifest), errors.Is(err, plugin.ErrLimit):
	default:
		return err
	}
	return &api.Error{Status: status, Code: code, Type: "invalid_request_error", Param: param, Message: err.Error()}
}
