// SPDX-License-Identifier: MIT

package guest

import (
	"bytes"
	"context"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/compile"
	"github.com/penstock/penstock/host/plugin/fuel"
	"github.com/penstock/penstock/host/plugin/memory"
	"github.com/penstock/penstock/plugins/abi"
)

// Module is a plugin's compiled module, which instances are made of. It is safe for concurrent use once Warm is done.
type Module struct {
	Name    string   // of the plugin; "unnamed" until its manifest is read
	Exports []string // those of the ABI that it has
	Host    *Host

	// Faulted hears of each fault in a request but that of a cancelled call. Nil: nobody does.
	Faulted func(*plugin.Fault, *plugin.Request)

	code    *compile.Code
	has     [exports]bool
	answers [exports]bool // the export has a result
	image   *image        // nil: every instance is initialised and warmed on its own
}

// New checks a module's exports and imports against the ABI, before any of its code runs, and gives it the host functions. The
// error wraps plugin.ErrExport or ErrImport; the code is the caller's to close then, and the module's from then on.
func New(ctx context.Context, h *Host, code *compile.Code) (*Module, error) {
	m := &Module{Name: "unnamed", Host: h, code: code}
	if err := m.checkExports(); err != nil {
		return nil, err
	}
	if err := checkImports(code.Module.ImportedFunctions()); err != nil {
		return nil, err
	}
	if err := offer(ctx, code); err != nil {
		return nil, err
	}
	return m, nil
}

// Has tells whether the module has an export.
func (m *Module) Has(e Export) bool { return m.has[e] }

// Close frees the code. No instance may be left.
func (m *Module) Close() {
	// Neither has anything to report: wazero forgets the code, and the image's file is private to it.
	_ = m.code.Close()
	if m.image != nil {
		_ = m.image.memory.Close()
	}
}

// Describe asks for the manifest, in an instance of its own.
func (m *Module) Describe(ctx context.Context) ([]byte, error) {
	i, err := m.instantiate(ctx, m.loading(ctx))
	if err != nil {
		return nil, err
	}
	defer func() { _ = i.Close(false) }() // nothing of it is needed any more
	if err := i.initialize(); err != nil {
		return nil, err
	}
	if _, err := i.Call(Describe, 0, 0); err != nil {
		return nil, err
	}
	if len(i.emitted) == 0 {
		return nil, fmt.Errorf("%w: %s emitted nothing; hand the manifest to emit", plugin.ErrManifest, abi.ExportDescribe)
	}
	return bytes.Clone(i.emitted), nil
}

// instantiate makes an instance that has run nothing yet.
func (m *Module) instantiate(ctx context.Context, s *Session) (_ *Instance, err error) {
	region, err := memory.New(uint64(m.Host.Limits.Module.MemoryPages)<<16, &m.Host.budget)
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", m.Name, err)
	}
	i := &Instance{module: m, session: s, region: region}
	defer func() {
		if p := recover(); p != nil { // where there is no memory, wazero has no error for it
			err = i.noMemory(p)
		}
		if err != nil {
			region.Free()
		}
	}()
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions()
	i.guest, err = m.code.Runtime.InstantiateModule(experimental.WithMemoryAllocator(ctx, region), m.code.Module, config)
	if err != nil { // a data or element segment that does not fit
		return nil, fmt.Errorf("%w: plugin %s cannot be instantiated: %w", plugin.ErrNotWasm, m.Name, err)
	}
	if i.meter, err = fuel.NewMeter(i.guest); err != nil {
		_ = i.guest.Close(ctx)
		return nil, fmt.Errorf("plugin %s: %w", m.Name, err)
	}
	i.meter.Pause = i.pause
	i.caller = caller{fuel.WithMeter(context.Background(), i.meter), i}
	return i, nil
}

// noMemory tells why there is none for an instance.
func (i *Instance) noMemory(why any) error {
	if i.region.Refused() {
		return i.Fault(Open, i.module.Host.budget.exceeded())
	}
	return fmt.Errorf("%w: plugin %s: no memory for an instance: %v", plugin.ErrLimit, i.module.Name, why)
}
