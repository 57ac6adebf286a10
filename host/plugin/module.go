// SPDX-License-Identifier: MIT

package plugin

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/penstock/penstock/host/plugin/fuel"
	"github.com/penstock/penstock/host/plugin/memory"
)

// Module is a loaded plugin. It is safe for concurrent use, and stays usable until its last user released it.
type Module struct {
	Name     string
	SHA256   string // of the file, in hex
	Exports  []string
	Manifest Manifest

	runtime *Runtime
	engine  *engine
	metered *fuel.Module
	schema  *jsonschema.Schema
	has     [hooks]bool
	answers [hooks]bool // the export has a result
	image   *image      // nil: every instance is initialised and warmed on its own
	health  health
	uses    atomic.Int64
}

func (m *Module) exports(h hook) bool { return m.has[h] }

// IsTemplate tells whether the plugin writes prompts. It, IsStop and IsStage tell which extension points a plugin has: a
// template, a stop rule, or anything that takes part in choosing tokens.
func (m *Module) IsTemplate() bool { return m.exports(hookTemplate) }

// IsStop tells whether the plugin is a stop rule; see IsTemplate.
func (m *Module) IsStop() bool { return m.exports(hookStop) }

// IsStage tells whether the plugin takes part in choosing tokens; see IsTemplate.
func (m *Module) IsStage() bool {
	return m.exports(hookSample) || m.exports(hookPrepare) || m.exports(hookAccept)
}

// Retain adds a user, unless the last has gone.
func (m *Module) Retain() bool {
	for {
		n := m.uses.Load()
		if n == 0 {
			return false
		}
		if m.uses.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Release takes a user away. The last one frees the compiled code.
func (m *Module) Release() {
	if m.uses.Add(-1) != 0 {
		return
	}
	// Neither has anything to report: wazero forgets the code, and the image's file is private to it.
	_ = m.engine.close()
	if m.image != nil {
		_ = m.image.memory.Close()
	}
}

// enter begins a use of the module, until leave. The error wraps ErrQuarantined, ErrUnknown or ErrClosed.
func (m *Module) enter(r *Request) error {
	if err := m.allow(r); err != nil {
		return err
	}
	if !m.Retain() {
		return unknown(m.Name)
	}
	if err := m.runtime.enter(); err != nil {
		m.Release()
		return err
	}
	return nil
}

func (m *Module) leave() {
	m.Release()
	m.runtime.leave()
}

// instantiate makes an instance that has run nothing yet.
func (m *Module) instantiate(ctx context.Context, s *session) (_ *instance, err error) {
	region, err := memory.New(uint64(m.runtime.limits.Module.MemoryPages)<<16, &m.runtime.budget)
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", m.Name, err)
	}
	i := &instance{module: m, session: s, region: region}
	defer func() {
		if p := recover(); p != nil { // where there is no memory, wazero has no error for it
			err = i.noMemory(p)
		}
		if err != nil {
			region.Free()
		}
	}()
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions()
	i.guest, err = m.engine.wazero.InstantiateModule(experimental.WithMemoryAllocator(ctx, region), m.engine.compiled, config)
	if err != nil { // a data or element segment that does not fit
		return nil, fmt.Errorf("%w: plugin %s cannot be instantiated: %w", ErrNotWasm, m.Name, err)
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
func (i *instance) noMemory(why any) error {
	if i.region.Refused() {
		return i.fault(hookOpen, i.module.runtime.budget.exceeded())
	}
	return fmt.Errorf("%w: plugin %s: no memory for an instance: %v", ErrLimit, i.module.Name, why)
}

// initialize runs what a module wants to run before anything else.
func (i *instance) initialize() error {
	for _, h := range []hook{hookStart, hookInitialize} {
		if i.module.exports(h) {
			if _, err := i.call(h, 0, 0); err != nil {
				return err
			}
		}
	}
	return nil
}
