// SPDX-License-Identifier: MIT

package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
	"github.com/penstock/penstock/plugins/script"
)

// moduleSuffix ends the names of modules' files.
const moduleSuffix = ".wasm"

// suffixes end the names of plugins' files.
var suffixes = []string{moduleSuffix, load.ScriptSuffix}

// stamp tells whether a file has changed.
type stamp struct {
	size     int64
	modified time.Time
}

// Scan brings the registry up to date with the folder, and with the index of the plugins that the
// server comes with.
func (g *Registry) Scan(ctx context.Context) error {
	if err := g.acquire(ctx); err != nil {
		return err
	}
	defer g.release()
	if err := g.scanBundled(); err != nil && !errors.Is(err, errNoIndex) {
		g.log.Warn("the plugins that come with the server stay as they were", "error", err)
	}
	entries, err := os.ReadDir(g.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("failed to read the plugin folder: %w", err)
	}
	present, changed := map[string]bool{}, map[string]stamp{}
	for _, e := range entries {
		base := e.Name()
		if !slices.Contains(suffixes, filepath.Ext(base)) || base[0] == '.' {
			continue
		}
		info, err := os.Stat(filepath.Join(g.dir, base)) // follows links
		if err != nil || !info.Mode().IsRegular() {
			continue // gone again, or no file
		}
		present[base] = true
		now := stamp{info.Size(), info.ModTime()}
		if old := g.file(base); old == nil || old.stamp != now {
			changed[base] = now
		}
	}
	g.setLoads(changed)
	for _, base := range g.bases() { // removed first, so that their names are free for others
		if !present[base] {
			g.replaceFile(base, nil)
			g.log.Info("plugin removed", "file", base)
		}
	}
	for _, base := range slices.Sorted(maps.Keys(changed)) {
		g.readFile(ctx, base, changed[base])
		g.endLoad(base)
	}
	for _, base := range slices.Sorted(slices.Values(g.bases())) {
		if f := g.file(base); f != nil && f.wants != "" && g.baseOf(f.wants) == "" {
			g.readFile(ctx, base, f.stamp)
		}
	}
	return ctx.Err()
}

// readFile loads a file that is new or has changed. The plugin that the file held before stays in
// use if loading fails, or if the new one works with no model in memory and the old one does.
func (g *Registry) readFile(ctx context.Context, base string, now stamp) {
	next := &file{base: base, stamp: now}
	old := g.file(base)
	content, err := readAtMost(filepath.Join(g.dir, base), g.loader.Limits().Module.ModuleBytes+1)
	if err == nil {
		next.plugin, err = g.load(ctx, base, content)
	}
	if err == nil {
		if failed := g.tryModels(ctx, next.plugin); failed != nil && old != nil && g.worksWithAny(old.plugin) {
			err = failed
			next.plugin.Release()
			next.plugin = nil
		}
	}
	if ctx.Err() != nil {
		if next.plugin != nil {
			next.plugin.Release()
		}
		return
	}
	if err == nil {
		if other := g.baseOf(next.plugin.Name); other != "" && other != base {
			next.wants = next.plugin.Name
			err = fmt.Errorf("%w: the name %q is that of %s; remove one of them", plugin.ErrManifest, next.wants, other)
			next.plugin.Release()
			next.plugin = nil
		}
	}
	if err != nil {
		next.err = err
		if old != nil {
			next.plugin = old.plugin
		}
		g.log.Warn("a plugin was not loaded", "file", base, "error", plugin.Told(err))
	} else {
		g.log.Info("plugin loaded", "plugin", next.plugin.Name, "version", next.plugin.Manifest.Version, "sha256", next.plugin.SHA256)
	}
	g.replaceFile(base, next)
}

// setLoads sets which files are about to be loaded, one after another.
func (g *Registry) setLoads(files map[string]stamp) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.loads = maps.Clone(files)
}

// endLoad takes a file that was loaded, or could not be, off the list of setLoads.
func (g *Registry) endLoad(base string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.loads, base)
}

// load loads a module or a script if the lock allows it. base is the name of its file.
func (g *Registry) load(ctx context.Context, base string, content []byte) (*load.Plugin, error) {
	if err := g.lock.Allows(content); err != nil {
		return nil, err // before anything of it runs
	}
	p, err := g.loader.LoadFile(ctx, load.File{Base: base, Content: content})
	if err != nil {
		return nil, err
	}
	if err = g.lock.AllowsName(p.Name, p.SHA256); p.Name == script.Name {
		err = errReserved
	}
	if err != nil {
		p.Release()
		return nil, err
	}
	return p, nil
}

// readAtMost reads a file, or its first bytes if it has more.
func readAtMost(path string, limit int) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	return io.ReadAll(io.LimitReader(f, int64(limit)))
}

func (g *Registry) file(base string) *file {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.files[base]
}

func (g *Registry) bases() []string {
	g.mu.RLock()
	defer g.mu.RUnlock()
	list := make([]string, 0, len(g.files))
	for base := range g.files {
		list = append(list, base)
	}
	return list
}

// baseOf returns the base name of the file that holds a plugin; empty: there is none.
func (g *Registry) baseOf(name string) string {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if f := g.fileOf(name); f != nil {
		return f.base
	}
	return ""
}

// watchInterval is how often Watch looks.
const watchInterval = time.Second

// Watch scans until ctx is done. It looks at times and sizes only, which works on every file
// system.
func (g *Registry) Watch(ctx context.Context) {
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := g.Scan(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			g.log.Warn("the plugin folder is not watched", "error", err)
		}
		failing = err != nil
	}
}
