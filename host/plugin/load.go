// SPDX-License-Identifier: MIT

package plugin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/penstock/penstock/host/plugin/fuel"
	"github.com/penstock/penstock/plugins/abi"
)

// Load makes a plugin of a module: it checks and meters it, compiles it, asks for its manifest and warms it up. The error
// wraps one of this package's errors, or is a *Fault or *Refusal of describe, warm or the module's initialisation. The
// module is the caller's to Release.
func (r *Runtime) Load(ctx context.Context, wasm []byte) (*Module, error) {
	return r.load(ctx, wasm, r.limits.Compile)
}

// load is Load with another limit of the time for compiling.
func (r *Runtime) load(ctx context.Context, wasm []byte, limit time.Duration) (*Module, error) {
	if err := r.check(wasm); err != nil {
		return nil, err
	}
	r.loading.Lock()
	defer r.loading.Unlock()
	if err := ctx.Err(); err != nil { // nobody waits for it any more
		return nil, err
	}
	sum := sha256.Sum256(wasm)
	metered, engine, err := r.compile(ctx, wasm, sum, limit)
	if err != nil {
		return nil, err
	}
	m := &Module{runtime: r, engine: engine, metered: metered, SHA256: hex.EncodeToString(sum[:]), Name: "unnamed"}
	m.uses.Store(1)
	metered.Wasm = nil // compiled now
	if err := m.prepare(ctx); err != nil {
		m.Release()
		return nil, err
	}
	return m, nil
}

// check refuses at once what is no plugin of this version.
func (r *Runtime) check(wasm []byte) error {
	if err := checkHeader(wasm, r.limits.Module.ModuleBytes); err != nil {
		return err
	}
	if versioned, err := fuel.Exports(wasm, abi.ExportABIV1, r.limits.Module); err != nil {
		return translate(err)
	} else if !versioned {
		return fmt.Errorf("%w: it does not export %s; build it with an SDK of this version", ErrVersion, abi.ExportABIV1)
	}
	return nil
}

// prepare does everything of Load that needs the compiled module.
func (m *Module) prepare(ctx context.Context) error {
	if err := m.checkTypes(); err != nil {
		return err
	}
	if err := m.engine.offer(ctx); err != nil {
		return err
	}
	text, err := m.describe(ctx)
	if err != nil {
		return err
	}
	if m.Manifest, err = parseManifest(text, m.exports(hookSample)); err != nil {
		return err
	}
	m.Name = m.Manifest.Name
	if err := checkSpelling(slices.Collect(maps.Keys(m.engine.compiled.ExportedFunctions())), m.Manifest.Optional); err != nil {
		return err
	}
	if m.schema, err = compileSchema(m.Manifest.ConfigSchema); err != nil {
		return err
	}
	return m.warm(ctx)
}

// checkHeader checks what the first bytes and the size tell.
func checkHeader(wasm []byte, limit int) error {
	header := []byte("\x00asm\x01\x00\x00\x00")
	switch {
	case len(wasm) > limit:
		return fmt.Errorf("%w: %d bytes, at most %d are allowed; strip debug information or optimise for size", ErrTooLarge, len(wasm), limit)
	case len(wasm) < 4 || !bytes.Equal(wasm[:4], header[:4]):
		return fmt.Errorf("%w: it does not begin with the bytes \\0asm; upload the .wasm file itself", ErrNotWasm)
	case len(wasm) < 8 || !bytes.Equal(wasm[4:8], header[4:]):
		return fmt.Errorf("%w: its format is not version 1; a component must be built as a core module instead", ErrNotWasm)
	}
	return nil
}

// loading is a session of nobody's request.
func (m *Module) loading(ctx context.Context) *session {
	s := newSession(&m.runtime.limits, m.runtime.log)
	s.done, s.loading = ctx.Done(), true
	return s
}

// describe asks for the manifest in an instance of its own.
func (m *Module) describe(ctx context.Context) ([]byte, error) {
	i, err := m.instantiate(ctx, m.loading(ctx))
	if err != nil {
		return nil, err
	}
	defer func() { _ = i.close(false) }() // nothing of it is needed any more
	if err := i.initialize(); err != nil {
		return nil, err
	}
	if _, err := i.call(hookDescribe, 0, 0); err != nil {
		return nil, err
	}
	if len(i.emitted) == 0 {
		return nil, fmt.Errorf("%w: %s emitted nothing; hand the manifest to emit", ErrManifest, abi.ExportDescribe)
	}
	return bytes.Clone(i.emitted), nil
}
