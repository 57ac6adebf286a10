// SPDX-License-Identifier: MIT

package registry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/index"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/script"
)

// ErrBundled refuses to remove a plugin that the server comes with.
var ErrBundled = errors.New("the plugin comes with the server, so it cannot be removed")

// errNoIndex means that the folder of the bundled plugins has no index.
var errNoIndex = errors.New("failed to find the plugins that come with the server")

// bundled is a plugin that the server comes with. A file of that name in the plugin folder hides
// it.
type bundled struct {
	index.Entry
	path string
	turn chan struct{} // holds an element while the plugin is loaded

	// Guarded by Registry.mu.
	plugin *load.Plugin // nil: nobody has used it
	err    error        // why it could not be loaded the last time
}

// scanBundled reads the index of the bundled plugins if it has changed, since whoever builds
// Penstock may build them while the server runs. A plugin whose file is the same stays loaded. With
// an error, such as errNoIndex, all stay as they were. The caller holds the folder.
func (g *Registry) scanBundled() error {
	if g.bundledDir == "" {
		return nil
	}
	path := filepath.Join(g.bundledDir, index.FileName)
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("%w (plugins.bundled): %w", errNoIndex, err)
	}
	now := stamp{info.Size(), info.ModTime()}
	if now == g.bundledSeen {
		return nil
	}
	g.bundledSeen = now
	next, err := g.readIndex(path)
	if err != nil {
		return fmt.Errorf("%s (plugins.bundled): %w", path, err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	for name, old := range g.bundled {
		if b := next[name]; b != nil && b.SHA256 == old.SHA256 && b.path == old.path {
			next[name] = old
		} else if old.plugin != nil {
			old.plugin.Release()
		}
	}
	g.bundled = next
	return nil
}

// readIndex reads the index of the bundled plugins. It leaves out those that the operator's lock
// does not allow.
func (g *Registry) readIndex(path string) (map[string]*bundled, error) {
	i, err := index.Read(path, int64(g.loader.Limits().Module.ModuleBytes))
	if err != nil {
		return nil, err
	}
	all := map[string]*bundled{}
	for _, e := range i.Plugins {
		if file := e.Path(); !fs.ValidPath(file) {
			return nil, fmt.Errorf("the file of %s is at %q, not beside the index", e.Name, e.URL)
		} else if g.lock.AllowsName(e.Name, e.SHA256) == nil {
			all[e.Name] = &bundled{Entry: e, path: filepath.Join(g.bundledDir, filepath.FromSlash(file)), turn: make(chan struct{}, 1)}
		}
	}
	return all, nil
}

// findBundled finds the bundled plugin of a name; nil: there is none, or a file of the plugin
// folder hides it, even one that cannot be loaded. The caller holds mu.
func (g *Registry) findBundled(name string) *bundled {
	if g.byName[name] != nil {
		return nil
	}
	for _, suffix := range suffixes {
		if _, loads := g.loads[name+suffix]; loads || g.files[name+suffix] != nil {
			return nil
		}
	}
	return g.bundled[name]
}

// isBundled reports whether a name is that of a bundled plugin for requests.
func (g *Registry) isBundled(name string) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.findBundled(name) != nil
}

// loadBundled returns a bundled plugin, and loads it if need be. The caller must Release it. The
// error wraps ErrLoading or ErrUnknown.
func (g *Registry) loadBundled(ctx context.Context, b *bundled) (*load.Plugin, error) {
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w while %s was compiled", plugin.ErrLoading, ctx.Err(), b.Name)
	}
	if p := g.loadedBundled(b); p != nil {
		return p, nil
	}
	p, err := g.readBundled(ctx, b)
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("%w: %w while %s was compiled", plugin.ErrLoading, ctx.Err(), b.Name)
	case err != nil:
		b.err = err
		g.log.Warn("a plugin that comes with the server was not loaded", "plugin", b.Name, "error", plugin.Told(err))
		return nil, fmt.Errorf("%w: %q comes with the server and cannot be loaded; GET /v1/plugins has the reason", plugin.ErrUnknown, b.Name)
	case g.closed:
		p.Release()
		return nil, plugin.Unknown(b.Name)
	}
	if g.bundled[b.Name] == b { // the index has not changed meanwhile
		p.Retain()
		b.plugin, b.err = p, nil
	}
	g.log.Info("plugin loaded", "plugin", p.Name, "version", p.Manifest.Version, "sha256", p.SHA256)
	return p, nil
}

// loadedBundled returns the plugin if it is loaded. The caller must Release it.
func (g *Registry) loadedBundled(b *bundled) *load.Plugin {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if b.plugin != nil && b.plugin.Retain() {
		return b.plugin
	}
	return nil
}

// readBundled loads a bundled plugin's file, if it is the one that the index has.
func (g *Registry) readBundled(ctx context.Context, b *bundled) (*load.Plugin, error) {
	content, err := readAtMost(b.path, int(b.Size)+1)
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		err = failed.Err // without the folder's path, which no client needs to know
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s, which comes with the server: %w", plugin.ErrNotWasm, filepath.Base(b.path), err)
	}
	if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != b.SHA256 {
		return nil, fmt.Errorf("%w: %s is not the file that the server came with: its SHA-256 is another one than the index there says", plugin.ErrNotWasm, filepath.Base(b.path))
	}
	p, err := g.load(ctx, filepath.Base(b.path), content)
	if err == nil && p.Name != b.Name {
		p.Release()
		return nil, fmt.Errorf("%w: %s is plugin %q, and the index there says %q", plugin.ErrManifest, filepath.Base(b.path), p.Name, b.Name)
	}
	return p, err
}

// describeBundled describes a bundled plugin, by its index until it is loaded. The caller holds mu.
func (g *Registry) describeBundled(b *bundled) Info {
	i := Info{Name: b.Name, SHA256: b.SHA256, State: StateReady, Manifest: &b.Manifest, Exports: b.Exports, File: filepath.Base(b.path), Size: b.Size, Bundled: true}
	switch {
	case b.plugin != nil:
		i.describe(b.plugin, g.loader.Models())
	case b.err != nil:
		i.State, i.Error = StateFailed, plugin.Told(b.err)
	}
	return i
}

// ErrReserved refuses a plugin with the name of the built-in one that runs scripts, and the removal
// of the built-in one.
var ErrReserved = errors.New("the name is that of a built-in plugin")

var errReserved = fmt.Errorf("%w: %q runs scripts and comes with the server, so it can be neither replaced nor removed; give yours another name. "+
	"plugins.scripts says who may bring scripts", ErrReserved, script.Name)

// ErrOtherKind refuses an upload under the name of a plugin of the other kind: module or script.
var ErrOtherKind = errors.New("a plugin of another kind is called so")

// ErrNoScript refuses to show the source of a plugin that is no script.
var ErrNoScript = errors.New("it is a module, which has no source here")

// isScript reports whether a file is a script, by its name.
func isScript(base string) bool { return filepath.Ext(base) == load.ScriptSuffix }

// isBuiltIn reports whether a name is that of the built-in plugin, where requests may use it.
func (g *Registry) isBuiltIn(name string) bool { return name == script.Name && g.scripts }

// describeBuiltIn describes the plugin that runs scripts. It is not loaded for that.
func (g *Registry) describeBuiltIn() Info {
	sum, size, p, err := g.loader.LoadedInterpreter()
	i := Info{Name: script.Name, SHA256: sum, Size: int64(size), State: StateReady}
	switch {
	case p != nil:
		i.describe(p, g.loader.Models())
		// The faults are those of all clients' scripts, which concern no other client. Metrics count
		// them.
		i.Faults, i.LastFault, i.FaultedAt = 0, "", time.Time{}
		if i.State == StateQuarantined {
			i.State = StateReady
		}
	case err != nil:
		i.State, i.Error = StateFailed, plugin.Told(err)
	}
	return i
}

// Source returns the source of a script from its file. The error wraps ErrUnknown or ErrNoScript.
func (g *Registry) Source(name string) ([]byte, error) {
	base := g.baseOf(name)
	switch {
	case base == "" && !g.isBuiltIn(name):
		return nil, plugin.Unknown(name)
	case !isScript(base):
		return nil, fmt.Errorf("%q: %w", name, ErrNoScript)
	}
	source, err := readAtMost(filepath.Join(g.dir, base), g.loader.Limits().Module.ModuleBytes)
	if err != nil {
		return nil, fmt.Errorf("failed to read the script: %w", err)
	}
	return source, nil
}
