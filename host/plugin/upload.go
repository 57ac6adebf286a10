// SPDX-License-Identifier: MIT

package plugin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Upload checks a module, writes it into the folder and puts it to use under the name in its manifest, in place of the
// one that had it. created tells that the name is new. Errors are those of Runtime.Load, or of writing.
func (g *Registry) Upload(ctx context.Context, wasm []byte) (_ Info, created bool, _ error) {
	if err := checkHeader(wasm, g.runtime.limits.Module.ModuleBytes); err != nil {
		return Info{}, false, err // before waiting
	}
	if err := g.lock(ctx); err != nil {
		return Info{}, false, err
	}
	defer g.unlock()
	m, err := g.runtime.Load(ctx, wasm)
	if err != nil {
		return Info{}, false, err
	}
	base := g.holder(m.Name)
	created = base == ""
	if created {
		base = g.freeBase(m)
	}
	now, err := g.write(base, wasm)
	if err != nil {
		m.Release()
		return Info{}, false, err
	}
	f := &file{base: base, stamp: now, module: m}
	info := f.info()
	g.put(base, f)
	g.log.Info("plugin uploaded", "plugin", m.Name, "version", m.Manifest.Version, "sha256", m.SHA256)
	return info, created, nil
}

// freeBase is the name of a new plugin's file: its own, unless another plugin lies in a file of that name.
func (g *Registry) freeBase(m *Module) string {
	base := m.Name + suffix
	if f := g.file(base); f != nil && f.module != nil {
		base = m.Name + "-" + m.SHA256[:12] + suffix
	}
	return base
}

// write puts a file into the folder, whole or not at all.
func (g *Registry) write(base string, wasm []byte) (_ stamp, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("failed to write the plugin: %w", err)
		}
	}()
	if err := os.MkdirAll(g.dir, 0o755); err != nil {
		return stamp{}, err
	}
	f, err := os.CreateTemp(g.dir, ".upload-*")
	if err != nil {
		return stamp{}, err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // the first error is the one to tell
		}
	}()
	_, err = f.Write(wasm)
	err = errors.Join(err, f.Chmod(0o644), f.Sync())
	if err = errors.Join(err, f.Close()); err != nil {
		return stamp{}, err
	}
	info, err := os.Stat(f.Name())
	if err != nil {
		return stamp{}, err
	}
	return stamp{info.Size(), info.ModTime()}, os.Rename(f.Name(), filepath.Join(g.dir, base))
}

// Remove deletes a plugin and its file. The error wraps ErrUnknown where there is none.
func (g *Registry) Remove(ctx context.Context, name string) error {
	if err := g.lock(ctx); err != nil {
		return err
	}
	defer g.unlock()
	base := g.holder(name)
	if base == "" {
		return unknown(name)
	}
	if err := os.Remove(filepath.Join(g.dir, base)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("failed to remove plugin %q: %w", name, err)
	}
	g.put(base, nil)
	g.log.Info("plugin removed", "plugin", name)
	return nil
}
