// SPDX-License-Identifier: MIT

package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// suffix is what files of plugins end with.
const suffix = ".wasm"

// patience is how long compiling a file of the folder may take. It is the operator's own, and at a start the machine may
// be busy; the rewriter bounds the work in any case.
const patience = time.Minute

// stamp tells whether a file has changed.
type stamp struct {
	size     int64
	modified time.Time
}

// Scan brings the registry up to date with the folder.
func (g *Registry) Scan(ctx context.Context) error {
	if err := g.lock(ctx); err != nil {
		return err
	}
	defer g.unlock()
	entries, err := os.ReadDir(g.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("failed to read the plugin folder: %w", err)
	}
	present := map[string]bool{}
	for _, e := range entries {
		base := e.Name()
		if filepath.Ext(base) != suffix || base[0] == '.' {
			continue
		}
		info, err := os.Stat(filepath.Join(g.dir, base)) // follows links
		if err != nil || !info.Mode().IsRegular() {
			continue // gone again, or no file
		}
		present[base] = true
		now := stamp{info.Size(), info.ModTime()}
		if old := g.file(base); old == nil || old.stamp != now {
			g.read(ctx, base, now)
		}
	}
	for _, base := range g.bases() {
		if !present[base] {
			g.put(base, nil)
			g.log.Info("plugin removed", "file", base)
		}
	}
	return ctx.Err()
}

// read loads a file that is new or has changed. Where that fails, what it held before stays in use.
func (g *Registry) read(ctx context.Context, base string, now stamp) {
	next := &file{base: base, stamp: now}
	old := g.file(base)
	wasm, err := readAtMost(filepath.Join(g.dir, base), g.runtime.limits.Module.ModuleBytes+1)
	if err == nil {
		next.module, err = g.runtime.load(ctx, wasm, patience)
	}
	if ctx.Err() != nil {
		if next.module != nil {
			next.module.Release()
		}
		return
	}
	if err == nil {
		if other := g.holder(next.module.Name); other != "" && other != base {
			err = fmt.Errorf("%w: the name %q is that of %s; remove one of them", ErrManifest, next.module.Name, other)
			next.module.Release()
			next.module = nil
		}
	}
	if err != nil {
		next.err = err
		if old != nil {
			next.module = old.module
		}
		g.log.Warn("a plugin was not loaded", "file", base, "error", err)
	} else {
		g.log.Info("plugin loaded", "plugin", next.module.Name, "version", next.module.Manifest.Version, "sha256", next.module.SHA256)
	}
	g.put(base, next)
}

// readAtMost reads a file, or its first bytes where it has more.
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

// holder is the base name of the file that holds a plugin; empty if there is none.
func (g *Registry) holder(name string) string {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if f := g.fileOf(name); f != nil {
		return f.base
	}
	return ""
}

// interval is how often Watch looks.
const interval = time.Second

// Watch scans until ctx is done. It looks at times and sizes only, which works on every file system.
func (g *Registry) Watch(ctx context.Context) {
	ticker := time.NewTicker(interval)
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
