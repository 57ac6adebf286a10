// SPDX-License-Identifier: MIT

// Package registry keeps the plugins of a folder: what its files hold, which of them has which
// name, and what is uploaded. Beside the folder it keeps the modules of clients, in memory.
//
// # Why does a lock refuse every module that it does not name?
//
// A list that only checks what it names would let a file of another name in, which a request
// could then use. The hash is compared before anything of the module runs, the name once the
// module has said it.
package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/penstock/penstock/host/atomicfile"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
)

// Registry keeps the plugins of a folder, for all models, and the modules of clients. It is safe
// for concurrent use. A request keeps the plugin it began with; later requests see what has changed
// in the folder.
type Registry struct {
	loader  *load.Loader
	dir     string
	lock    plugin.Lock
	log     *slog.Logger
	scripts bool // requests may bring scripts

	bundledDir  string              // folder of the plugins that the server comes with; "": it comes with none
	bundledSeen stamp               // of the index that was read last, even a broken one; guarded by change
	bundled     map[string]*bundled // these plugins, by name; guarded by mu

	Modules *Modules // clients' modules; nil: they bring none

	uploads sync.WaitGroup // uploads being loaded, also those whose clients are gone

	change chan struct{} // holds an element while the folder is changed or scanned

	mu     sync.RWMutex
	files  map[string]*file        // by base name
	byName map[string]*load.Plugin // by plugin name
	loads  map[string]stamp        // new or changed files that are being loaded, by base name
	closed bool
}

// Options say where a registry's plugins come from.
type Options struct {
	Dir     string      // which need not exist
	Bundled string      // folder of the plugins that the server comes with, with their index; "": it comes with none
	Later   bool        // the Bundled folder may be missing, and come later
	Lock    plugin.Lock // the modules and scripts that may be loaded; nil: any
	Scripts bool        // requests may bring scripts, so the plugin that runs them is listed

	ModuleLife time.Duration // how long a client's module is kept after its last use; 0: clients bring none

	Log *slog.Logger
}

// file is a file of the folder, a module or a script.
type file struct {
	base   string
	stamp  stamp
	plugin *load.Plugin // the last plugin that was loaded from it; nil: none
	err    error        // why its present content was not loaded
	wants  string       // its plugin's name, if that was another file's; otherwise empty
}

// Open loads all plugins of a folder that the lock allows. A file that does not load is listed with
// its error. Bundled plugins are only listed: each is loaded with its first use.
func Open(ctx context.Context, l *load.Loader, o Options) (*Registry, error) {
	g := &Registry{
		loader: l, dir: o.Dir, lock: o.Lock, scripts: o.Scripts, log: o.Log, change: make(chan struct{}, 1), files: map[string]*file{}, byName: map[string]*load.Plugin{},
		bundledDir: o.Bundled,
	}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	if o.ModuleLife > 0 {
		o.Log = g.log
		g.Modules = newModules(l, o)
	}
	if err := atomicfile.RemoveLeftovers(g.dir); err != nil {
		g.log.Warn("what unfinished uploads left in the plugin folder stays there", "error", err)
	}
	if err := g.scanBundled(); err != nil && !(o.Later && errors.Is(err, errNoIndex)) {
		return nil, err
	}
	if err := g.Scan(ctx); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// Find returns a plugin, which the caller must Release; FindFor returns it for use. A bundled one
// is loaded if need be. The error wraps ErrUnknown or ErrLoading.
func (g *Registry) Find(ctx context.Context, name string) (*load.Plugin, error) {
	g.mu.RLock()
	p := g.byName[name]
	if p != nil && p.Retain() {
		g.mu.RUnlock()
		return p, nil
	}
	b, err := g.findBundled(name), g.unknownError(name)
	g.mu.RUnlock()
	if b == nil {
		return nil, err
	}
	return g.loadBundled(ctx, b)
}

// unknownError returns the error of a name that no plugin has: ErrLoading if a file of that name is
// being loaded. The caller holds mu.
func (g *Registry) unknownError(name string) error {
	for _, suffix := range suffixes {
		if _, loads := g.loads[name+suffix]; loads {
			return fmt.Errorf("%w: %s is new in the folder; try again in some seconds", plugin.ErrLoading, name+suffix)
		}
	}
	return plugin.Unknown(name)
}

// List describes all plugins, and the files that could not be loaded, by name.
func (g *Registry) List() []Info {
	g.mu.RLock()
	defer g.mu.RUnlock()
	list := make([]Info, 0, len(g.files))
	for _, f := range g.files {
		list = append(list, g.describeFile(f))
	}
	for name := range g.bundled {
		if b := g.findBundled(name); b != nil {
			list = append(list, g.describeBundled(b))
		}
	}
	if g.scripts {
		list = append(list, g.describeBuiltIn())
	}
	slices.SortFunc(list, func(a, b Info) int { return strings.Compare(a.Name+"\x00"+a.File, b.Name+"\x00"+b.File) })
	return list
}

// Get describes one plugin. The error wraps ErrUnknown.
func (g *Registry) Get(name string) (Info, error) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if f := g.fileOf(name); f != nil {
		return g.describeFile(f), nil
	}
	if b := g.findBundled(name); b != nil {
		return g.describeBundled(b), nil
	}
	if g.isBuiltIn(name) {
		return g.describeBuiltIn(), nil
	}
	return Info{}, g.unknownError(name)
}

// Path returns the path of the file that Info describes. It must not be bundled.
func (g *Registry) Path(i Info) string { return filepath.Join(g.dir, i.File) }

// Reset ends a plugin's quarantine. The error wraps ErrUnknown.
func (g *Registry) Reset(name string) (Info, error) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if g.isBuiltIn(name) {
		if _, _, p, _ := g.loader.LoadedInterpreter(); p != nil {
			p.Reset()
		}
		return g.describeBuiltIn(), nil
	}
	if b := g.findBundled(name); b != nil {
		if b.plugin != nil {
			b.plugin.Reset()
		}
		return g.describeBundled(b), nil
	}
	f := g.fileOf(name)
	if f == nil {
		return Info{}, g.unknownError(name)
	}
	f.plugin.Reset()
	return g.describeFile(f), nil
}

// fileOf finds the file that holds a loaded plugin; nil if there is none. The caller holds mu.
func (g *Registry) fileOf(name string) *file {
	for _, f := range g.files {
		if f.plugin != nil && f.plugin.Name == name {
			return f
		}
	}
	return nil
}

// Close releases the plugins. Requests that use one keep it until they end.
func (g *Registry) Close() error {
	g.uploads.Wait()
	if g.Modules != nil {
		g.Modules.close()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, f := range g.files {
		if f.plugin != nil {
			f.plugin.Release()
		}
	}
	for _, b := range g.bundled {
		if b.plugin != nil {
			b.plugin.Release()
		}
	}
	g.files, g.byName, g.bundled, g.closed = nil, nil, nil, true
	return nil
}

// acquire waits until nobody else changes or scans the folder.
func (g *Registry) acquire(ctx context.Context) error {
	select {
	case g.change <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *Registry) release() { <-g.change }

// replaceFile replaces the entry of a file; with nil it removes the entry.
func (g *Registry) replaceFile(base string, f *file) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		if f != nil && f.plugin != nil {
			f.plugin.Release()
		}
		return
	}
	old := g.files[base]
	if old != nil && old.plugin != nil && (f == nil || f.plugin != old.plugin) {
		delete(g.byName, old.plugin.Name)
		old.plugin.Release()
	}
	if f == nil {
		delete(g.files, base)
		return
	}
	g.files[base] = f
	if f.plugin != nil {
		g.byName[f.plugin.Name] = f.plugin
	}
}

// Info describes a plugin, or a file that could not be loaded.
type Info struct {
	Name      string         `json:"name"` // the file's, where it could not be loaded
	SHA256    string         `json:"sha256,omitempty"`
	State     State          `json:"state"`
	Manifest  *load.Manifest `json:"manifest,omitempty"`
	Exports   []string       `json:"exports,omitempty"`
	File      string         `json:"file"`              // base name; "": it is a part of the server
	Bundled   bool           `json:"bundled,omitempty"` // the server comes with the file
	Size      int64          `json:"size"`              // of the file, in bytes
	Error     string         `json:"error,omitempty"`
	Faults    int            `json:"faults"`
	LastFault string         `json:"last_fault,omitempty"`
	FaultedAt time.Time      `json:"last_fault_at,omitzero"`
	// ModelErrors has the models in memory that the plugin cannot be used with.
	ModelErrors []ModelError `json:"model_errors,omitempty"`
}

// ModelError says why a plugin cannot be used with a model.
type ModelError struct {
	Model string `json:"model"` // its name
	Error string `json:"error"`
}

// State is whether a plugin can be used.
type State string

// The states of a plugin.
const (
	StateReady       State = "ready"
	StateQuarantined State = "quarantined"
	StateFailed      State = "failed" // the file cannot be loaded, or the plugin cannot be used with the server's only model
)

func (g *Registry) describeFile(f *file) Info {
	i := Info{Name: strings.TrimSuffix(f.base, filepath.Ext(f.base)), State: StateFailed, File: f.base, Size: f.stamp.size}
	if f.err != nil {
		i.Error = plugin.Told(f.err) // loading quotes no request
	}
	if f.plugin == nil {
		return i
	}
	i.describe(f.plugin, g.loader.Models())
	return i
}

// describe fills in the fields of a loaded plugin, and of its use with models.
func (i *Info) describe(p *load.Plugin, models []*load.Model) {
	health := p.Health()
	manifest, exports := p.Described()
	i.Name, i.SHA256, i.Manifest, i.Exports = p.Name, p.SHA256, &manifest, exports
	i.State, i.Faults, i.LastFault, i.FaultedAt = StateReady, health.Faults, health.LastFault, health.FaultedAt
	if health.Quarantined {
		i.State = StateQuarantined
	}
	for _, m := range models {
		err := m.Failed(p)
		if err == nil {
			continue
		}
		why := plugin.Told(err.Err)
		i.ModelErrors = append(i.ModelErrors, ModelError{m.Name(), why})
		if m.Alone() {
			i.State, i.Error = StateFailed, cmp.Or(i.Error, why)
		}
	}
}

// StateWith returns the plugin's state for use with a model.
func (i Info) StateWith(model string) State {
	for _, e := range i.ModelErrors {
		if e.Model == model {
			return StateFailed
		}
	}
	return i.State
}
