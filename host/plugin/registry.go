// SPDX-License-Identifier: MIT

package plugin

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
)

// Registry keeps the plugins of a folder. It is safe for concurrent use. A request keeps the module it began with;
// whatever happens to the folder meanwhile is for the next.
type Registry struct {
	runtime *Runtime
	dir     string
	log     *slog.Logger

	uploads sync.WaitGroup // those that are being loaded, also with nobody waiting any more

	change chan struct{} // holds one element while somebody changes the folder or reads it anew

	mu     sync.RWMutex
	files  map[string]*file   // by base name
	byName map[string]*Module // by plugin name
	closed bool
}

// file is a .wasm file of the folder.
type file struct {
	base   string
	stamp  stamp
	module *Module // what it holds; nil where it never loaded
	err    error   // why what it holds now was not loaded
}

// Info describes a plugin, or a file that is none.
type Info struct {
	Name      string    `json:"name"` // the file's, where it could not be loaded
	SHA256    string    `json:"sha256,omitempty"`
	State     State     `json:"state"`
	Manifest  *Manifest `json:"manifest,omitempty"`
	Exports   []string  `json:"exports,omitempty"`
	File      string    `json:"file"` // base name
	Error     string    `json:"error,omitempty"`
	Faults    int       `json:"faults"`
	LastFault string    `json:"last_fault,omitempty"`
}

// State is whether a plugin can be used.
type State string

// The states of a plugin.
const (
	StateReady       State = "ready"
	StateQuarantined State = "quarantined"
	StateFailed      State = "failed" // the file cannot be loaded
)

// OpenRegistry loads all plugins of a folder, which need not exist. A file that does not load is listed with its error.
func OpenRegistry(ctx context.Context, r *Runtime, dir string, log *slog.Logger) (*Registry, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	g := &Registry{
		runtime: r, dir: dir, log: log, change: make(chan struct{}, 1), files: map[string]*file{}, byName: map[string]*Module{},
	}
	if err := g.Scan(ctx); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// Find gives a plugin that can be used, for the caller to Release. The error wraps ErrUnknown.
func (g *Registry) Find(name string) (*Module, error) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	m := g.byName[name]
	if m == nil || !m.Retain() {
		return nil, unknown(name)
	}
	return m, nil
}

// List describes all plugins and the files that are none, by name.
func (g *Registry) List() []Info {
	g.mu.RLock()
	defer g.mu.RUnlock()
	list := make([]Info, 0, len(g.files))
	for _, f := range g.files {
		list = append(list, f.info())
	}
	slices.SortFunc(list, func(a, b Info) int { return strings.Compare(a.Name+"\x00"+a.File, b.Name+"\x00"+b.File) })
	return list
}

// Get describes one plugin. The error wraps ErrUnknown.
func (g *Registry) Get(name string) (Info, error) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if f := g.fileOf(name); f != nil {
		return f.info(), nil
	}
	return Info{}, unknown(name)
}

// Reset ends a plugin's quarantine. The error wraps ErrUnknown.
func (g *Registry) Reset(name string) (Info, error) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	f := g.fileOf(name)
	if f == nil {
		return Info{}, unknown(name)
	}
	f.module.Reset()
	return f.info(), nil
}

// fileOf finds the file that holds a loaded plugin; nil if there is none. The caller holds mu.
func (g *Registry) fileOf(name string) *file {
	for _, f := range g.files {
		if f.module != nil && f.module.Name == name {
			return f
		}
	}
	return nil
}

func (f *file) info() Info {
	i := Info{Name: strings.TrimSuffix(f.base, suffix), State: StateFailed, File: f.base}
	if f.err != nil {
		i.Error = f.err.Error()
	}
	if f.module == nil {
		return i
	}
	health := f.module.Health()
	i.Name, i.SHA256, i.Manifest, i.Exports = f.module.Name, f.module.SHA256, &f.module.Manifest, f.module.Exports
	i.State, i.Faults, i.LastFault = StateReady, health.Faults, health.LastFault
	if health.Quarantined {
		i.State = StateQuarantined
	}
	return i
}

// Close gives the modules back; those in use live on until their requests end.
func (g *Registry) Close() error {
	g.uploads.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, f := range g.files {
		if f.module != nil {
			f.module.Release()
		}
	}
	g.files, g.byName, g.closed = nil, nil, true
	return nil
}

// lock waits until nobody else changes the folder.
func (g *Registry) lock(ctx context.Context) error {
	select {
	case g.change <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *Registry) unlock() { <-g.change }

// put makes a file's state what is found from now on; nil drops the file.
func (g *Registry) put(base string, f *file) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		if f != nil && f.module != nil {
			f.module.Release()
		}
		return
	}
	old := g.files[base]
	if old != nil && old.module != nil && (f == nil || f.module != old.module) {
		delete(g.byName, old.module.Name)
		old.module.Release()
	}
	if f == nil {
		delete(g.files, base)
		return
	}
	g.files[base] = f
	if f.module != nil {
		g.byName[f.module.Name] = f.module
	}
}
