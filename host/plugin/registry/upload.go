// SPDX-License-Identifier: MIT

package registry

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"

	"github.com/penstock/penstock/host/atomicfile"
	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/load"
)

// Upload checks a module, writes it into the folder and puts it to use under the name in its
// manifest, replacing the plugin that had the name. created tells that the name is new. Errors are
// those of load.Loader.Load, or of writing. A module that works with no model in memory is refused
// as well, unless it refuses them itself and may be meant for later models.
//
// A module's cost is limited as work: of compiling, as the rewriter estimates it and in processor
// time, and of its calls, in fuel. The limit by the clock is for a machine that is too busy.
// Compiling a function in this process and a call of the guest cannot be stopped: they may go on
// for a second or two after the limit, without effect.
func (g *Registry) Upload(ctx context.Context, wasm []byte) (_ Info, created bool, _ error) {
	return g.receive(ctx, moduleSuffix, wasm, g.keepUpload)
}

// Try answers as Upload would, and changes nothing.
func (g *Registry) Try(ctx context.Context, wasm []byte) (_ Info, created bool, _ error) {
	return g.receive(ctx, moduleSuffix, wasm, g.describeUpload)
}

// UploadScript is Upload for a script, which becomes the plugin of that name.
func (g *Registry) UploadScript(ctx context.Context, name string, source []byte) (_ Info, created bool, _ error) {
	return g.receive(ctx, name+load.ScriptSuffix, source, g.keepUpload)
}

// TryScript answers as UploadScript would, and changes nothing.
func (g *Registry) TryScript(ctx context.Context, name string, source []byte) (_ Info, created bool, _ error) {
	return g.receive(ctx, name+load.ScriptSuffix, source, g.describeUpload)
}

// finish is the last step of an upload: to keep the loaded plugin, or only to describe it. The
// caller holds the folder.
type finish func(base string, p *load.Plugin, content []byte) (Info, error)

// receive loads a module or a script in the time that an upload has. as is the name of its file, or
// only its suffix.
func (g *Registry) receive(ctx context.Context, as string, content []byte, then finish) (_ Info, created bool, _ error) {
	if !isScript(as) {
		if err := g.loader.Check(content); err != nil {
			return Info{}, false, err // before waiting
		}
	}
	ctx, cancel := context.WithTimeout(ctx, g.loader.Limits().Upload)
	defer cancel()
	u := &upload{done: make(chan struct{})}
	g.uploads.Add(1)
	go func() {
		defer g.uploads.Done()
		defer close(u.done)
		u.info, u.created, u.err = g.install(ctx, as, content, u, then)
	}()
	select {
	case <-u.done:
	case <-ctx.Done():
		if u.decided.CompareAndSwap(false, true) {
			return Info{}, false, g.lateError(ctx, u)
		}
		<-u.done // it is being written
	}
	if u.err != nil && ctx.Err() != nil {
		return Info{}, false, g.lateError(ctx, u)
	}
	return u.info, u.created, u.err
}

// upload is an upload in progress.
type upload struct {
	begun   atomic.Bool // it holds the folder
	decided atomic.Bool // it is being written, or nobody waits for it any more
	done    chan struct{}
	info    Info
	created bool
	err     error
}

// ErrLate marks an upload that was not loaded in time. A file in the folder may take longer.
var ErrLate = errors.New("takes longer than an upload may")

// lateError returns the error of an upload that was not loaded in time, or whose client went away.
func (g *Registry) lateError(ctx context.Context, u *upload) error {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	case !u.begun.Load():
		return fmt.Errorf("%w: it is loading others", plugin.ErrBusy)
	}
	return fmt.Errorf("%w: loading it %w, %v; try again when the machine has less to do, or put the file into the plugin folder",
		plugin.ErrLimit, ErrLate, g.loader.Limits().Upload)
}

// install loads a module or a script and takes the last step, unless nobody waits for it any more.
func (g *Registry) install(ctx context.Context, as string, content []byte, u *upload, then finish) (_ Info, created bool, _ error) {
	if err := g.acquire(ctx); err != nil {
		return Info{}, false, err
	}
	defer g.release()
	u.begun.Store(true)
	p, err := g.load(ctx, as, content)
	if err != nil {
		return Info{}, false, err
	}
	base, created, err := g.chooseFile(p, filepath.Ext(as))
	if err != nil {
		p.Release()
		return Info{}, false, err
	}
	if failed := g.tryModels(ctx, p); failed != nil && (ctx.Err() != nil || !g.mayUse(p, failed)) {
		p.Release()
		return Info{}, false, failed
	}
	if !u.decided.CompareAndSwap(false, true) {
		p.Release()
		return Info{}, false, ctx.Err()
	}
	info, err := then(base, p, content)
	return info, created && err == nil, err
}

// keepUpload writes a plugin's file and puts it to use.
func (g *Registry) keepUpload(base string, p *load.Plugin, content []byte) (Info, error) {
	now, err := g.write(base, content)
	if err != nil {
		p.Release()
		return Info{}, err
	}
	f := &file{base: base, stamp: now, plugin: p}
	info := g.describeFile(f)
	g.replaceFile(base, f)
	g.log.Info("plugin uploaded", "plugin", p.Name, "version", p.Manifest.Version, "sha256", p.SHA256)
	return info, nil
}

// describeUpload only describes a plugin.
func (g *Registry) describeUpload(base string, p *load.Plugin, content []byte) (Info, error) {
	defer p.Release()
	return g.describeFile(&file{base: base, stamp: stamp{size: int64(len(content))}, plugin: p}), nil
}

// chooseFile returns the name of a plugin's file, and whether the plugin's name is new. A module
// and a script do not replace each other, since their files have different suffixes.
func (g *Registry) chooseFile(p *load.Plugin, suffix string) (base string, created bool, _ error) {
	base = g.baseOf(p.Name)
	switch {
	case base == "":
		return g.newFileName(p, suffix), !g.isBundled(p.Name), nil
	case filepath.Ext(base) != suffix:
		return "", false, fmt.Errorf("%w: %s has the name %q; remove that plugin first, or give this one another name", ErrOtherKind, base, p.Name)
	}
	return base, false, nil
}

// newFileName returns the name of a new plugin's file: the plugin's own, unless another plugin is
// in a file of that name.
func (g *Registry) newFileName(p *load.Plugin, suffix string) string {
	base := p.Name + suffix
	if f := g.file(base); f != nil && f.plugin != nil {
		base = p.Name + "-" + p.SHA256[:12] + suffix
	}
	return base
}

// write puts a file into the folder, whole or not at all.
func (g *Registry) write(base string, wasm []byte) (stamp, error) {
	err := atomicfile.MkdirAll(g.dir, 0o755)
	if err != nil {
		return stamp{}, fmt.Errorf("failed to make the plugin folder: %w", err)
	}
	info, err := atomicfile.WriteBytes(filepath.Join(g.dir, base), 0o644, wasm)
	if err != nil {
		return stamp{}, fmt.Errorf("failed to write the plugin: %w", err)
	}
	return stamp{info.Size(), info.ModTime()}, nil
}

// Remove deletes a plugin and its file. The error wraps ErrUnknown if there is none.
func (g *Registry) Remove(ctx context.Context, name string) error {
	if err := g.acquire(ctx); err != nil {
		return err
	}
	defer g.release()
	base := g.baseOf(name)
	switch {
	case base != "":
	case g.isBuiltIn(name):
		return errReserved
	case g.isBundled(name):
		return fmt.Errorf("%w: %q; one of that name in the plugin folder takes its place, and plugins.bundled: \"off\" hides all that come with the server", ErrBundled, name)
	default:
		return plugin.Unknown(name)
	}
	if err := atomicfile.Remove(filepath.Join(g.dir, base)); err != nil {
		return fmt.Errorf("failed to remove plugin %q: %w", name, err)
	}
	g.replaceFile(base, nil)
	g.log.Info("plugin removed", "plugin", name)
	return nil
}
