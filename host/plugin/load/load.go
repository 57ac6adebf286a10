// SPDX-License-Identifier: MIT

package load

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	"github.com/penstock/penstock/host/plugin/compile"
	"github.com/penstock/penstock/host/plugin/guest"
	"github.com/penstock/penstock/host/plugin/quarantine"
)

// Check refuses at once a module that is no plugin of this version. Load begins with it.
func (l *Loader) Check(wasm []byte) error { return compile.Check(wasm, l.host.Limits.Module) }

// Load turns a module into a plugin: it checks and meters it, compiles it, asks for its manifest
// and, where the loader's options have a model, warms it up for that. For other models Plugin.For
// does. The error wraps one of package plugin's errors, or is a *plugin.Fault or *plugin.Refusal
// of describe, warm or the module's initialisation. The plugin is the caller's to Release.
func (l *Loader) Load(ctx context.Context, wasm []byte) (*Plugin, error) {
	return l.load(ctx, wasm, l.compiler)
}

// Bounds of compiling a module that is a part of this program: what is compiled at a known price is
// not refused for it. An interpreter has one function that is worth most of them.
const (
	embeddedFunctionWork = 1 << 28
	embeddedWork         = 1 << 29
)

// LoadEmbedded is Load for a module that is a part of this program. Only the work of compiling it
// has wider bounds than that of others. While it runs it is trusted no more than they are.
func (l *Loader) LoadEmbedded(ctx context.Context, wasm []byte) (*Plugin, error) {
	limits := l.host.Limits.Module
	limits.FunctionWork, limits.Work = max(limits.FunctionWork, embeddedFunctionWork), max(limits.Work, embeddedWork)
	return l.load(ctx, wasm, l.compiler.With(limits))
}

func (l *Loader) load(ctx context.Context, wasm []byte, compiler *compile.Compiler) (*Plugin, error) {
	if err := l.Check(wasm); err != nil {
		return nil, err
	}
	l.loading.Lock()
	defer l.loading.Unlock()
	if err := ctx.Err(); err != nil { // nobody waits for it any more
		return nil, err
	}
	sum := sha256.Sum256(wasm)
	code, err := compiler.Compile(ctx, wasm, sum)
	if err != nil {
		return nil, err
	}
	return l.plugin(ctx, code, sum, nil)
}

// What a client's module counts for as long as it is there, besides its code and the images of its
// memory: so much for what each module has, and so many times its size for tables.
const (
	moduleBytes = 256 << 10
	tableFactor = 2
)

// ClientModule is the name that the modules of clients share where all are told of them.
const ClientModule = "module"

// LoadOwned is Load for a module that a client brings for its own requests. Only one is to be
// loaded at a time.
//
// # Notes
//
//   - What it computes meanwhile counts as the client's, whose turn it has to be, and what it takes
//     as long as it is there is a part of what the client may have of plugins.memory.
//   - Its code is compiled anew, so that the time tells nothing of what others have brought.
//   - Metrics know it as ClientModule, like all of them: its name is the client's word.
//
// # Errors
//
//   - Those of Load, and ErrBusy of package plugin.
//   - A *plugin.Fault of CauseBudget if the client has no room for it.
func (l *Loader) LoadOwned(ctx context.Context, client string, wasm []byte) (*Plugin, error) {
	if err := l.Check(wasm); err != nil {
		return nil, err
	}
	var kept *guest.Kept
	code, err := l.compiler.CompileAnew(ctx, wasm, func(bytes int64) (err error) {
		kept, err = l.host.Keep(client, ClientModule, bytes+moduleBytes+tableFactor*int64(len(wasm)))
		return err
	})
	if err != nil {
		kept.Give()
		return nil, err
	}
	return l.plugin(ctx, code, sha256.Sum256(wasm), kept)
}

// plugin makes a plugin of compiled code, which is its own then, and so is what is kept for its
// client; nil: it is the operator's.
func (l *Loader) plugin(ctx context.Context, code *compile.Code, sum [sha256.Size]byte, kept *guest.Kept) (*Plugin, error) {
	module, err := guest.New(ctx, l.host, code)
	if err != nil {
		_ = code.Close() // the reason is in err
		kept.Give()
		return nil, err
	}
	module.Own(kept)
	p := &Plugin{loaded: &loaded{loader: l, base: module, SHA256: hex.EncodeToString(sum[:])}, Module: module, model: l.own}
	p.users.Store(1)
	if err := p.prepare(ctx, code); err != nil {
		p.Release()
		return nil, err
	}
	return p, nil
}

// prepare runs the module for its manifest and its image.
func (p *Plugin) prepare(ctx context.Context, code *compile.Code) error {
	text, err := p.Module.Describe(ctx)
	if err != nil {
		return err
	}
	if p.Manifest, err = ParseManifest(text, p.Module.Exports); err != nil {
		return err
	}
	if p.Manifest.Implements != nil {
		p.Module.CallOnly(p.Manifest.Implements)
	}
	p.Exports = p.Module.Exports
	if err := p.checkExports(); err != nil {
		return err
	}
	p.Name, p.Module.Name, p.Module.Hold = p.Manifest.Name, p.Manifest.Name, p.Manifest.Hold
	p.quarantine = quarantine.New(p.Name, p.loader.host.Limits.Faults, p.loader.host.Log)
	p.Module.Faulted = p.quarantine.Faulted
	if err := checkSpelling(slices.Collect(maps.Keys(code.Compiled.ExportedFunctions())), &p.Manifest); err != nil {
		return err
	}
	if p.schema, err = NewSchema(p.Manifest.ConfigSchema); err != nil {
		return err
	}
	if !p.loader.host.HasModel() {
		return nil
	}
	return p.Module.Warm(ctx)
}
