// SPDX-License-Identifier: MIT

package guest

import (
	"context"
	"fmt"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/fuel"
	"github.com/penstock/penstock/host/plugin/memory"
	"github.com/penstock/penstock/host/turns"
)

// Instance is a module's instance at the service of one session. Calls must not overlap. After a
// fault only Close is left: a guest that trapped has a corrupt stack.
type Instance struct {
	Buffers Buffers // parts of its memory that the guest bound in open

	module  *Module
	session *Session
	guest   api.Module
	region  *memory.Region
	meter   *fuel.Meter

	hooks  [exports]hook // resolved at the first call: looking one up is slow
	stack  [2]uint64     // parameters and result of every call
	caller caller
	call   call // of a host function, that the guest makes

	hold     int           // how many tokens it may take back in this request
	declined [exports]bool // what the guest does not want to be called in this request

	running       Export
	started       time.Time
	deadline      time.Time     // of the call
	slice         *turns.Turn   // nil: it has no time slice
	sliceSince    time.Time     // since when it has it
	yieldedAt     time.Time     // when others were last let run
	waited        time.Duration // of the call, for time slices
	rested        time.Duration // of the call, between them
	fuelLimit     int64         // fuel of the last call
	emitted       []byte
	emits         bool   // the last call has called emit
	refusal       []byte // what fail was given
	grammars      []plugin.Grammar
	grammarReason string    // why the last one was refused; empty if it was not
	branches      *branches // of a program; nil: it is none, or does not run
	clock         uint64    // of WASI, in ns
	sizeBefore    int       // of its memory in bytes, when the call began
	unusable      bool
}

// hook is an export, and what is told the time of each call of it.
type hook struct {
	function api.Function
	took     func(time.Duration)
}

// caller is the context of all calls: host functions find their instance in it without a search.
type caller struct {
	context.Context
	instance *Instance
}

// NewInstance makes an instance that Open can be called on.
func (m *Module) NewInstance(ctx context.Context, s *Session) (*Instance, error) {
	i, err := m.instantiate(ctx, s)
	if err != nil {
		return nil, err
	}
	if m.image == nil {
		err = i.ready()
	} else {
		err = i.restore(m.image)
	}
	if err != nil {
		_ = i.Close(false) // the reason is in err
		return nil, err
	}
	return i, nil
}

// instantiate makes an instance that has run nothing yet.
func (m *Module) instantiate(ctx context.Context, s *Session) (_ *Instance, err error) {
	region, err := memory.New(uint64(m.code.Metered.MemoryPages)<<16, m.account(s))
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", m.Name, err)
	}
	i := &Instance{module: m, session: s, region: region, hold: m.Hold}
	defer func() {
		if p := recover(); p != nil { // without memory, wazero panics instead of returning an error
			err = i.noMemory(p)
		}
		if err != nil {
			region.Free()
		}
	}()
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions()
	i.guest, err = m.code.Runtime.InstantiateModule(experimental.WithMemoryAllocator(ctx, region), m.code.Compiled, config)
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
		return i.Fail(Open, i.exceeded())
	}
	return fmt.Errorf("%w: plugin %s: no memory for an instance: %v", plugin.ErrLimit, i.module.Name, why)
}

// ready initialises and warms an instance. Without a model there is nothing to warm for.
func (i *Instance) ready() error {
	if err := i.initialize(); err != nil {
		return err
	}
	if !i.module.Has(Warm) || !i.module.Env.HasModel() {
		return nil
	}
	if answer, err := i.Call(Warm, 0, 0); err != nil {
		return err
	} else if answer != 0 {
		return i.Refusal(Warm)
	}
	return nil
}

// initialize runs what a module wants to run before anything else.
func (i *Instance) initialize() error {
	for _, e := range []Export{Start, Initialize} {
		if i.module.Has(e) {
			if _, err := i.Call(e, 0, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// Has reports whether an export is to be called: the module has it, and the guest has not declined
// it.
func (i *Instance) Has(e Export) bool { return i.module.Has(e) && !i.declined[e] }

// Declined are the exports that the guest has declined although the module has them.
func (i *Instance) Declined() (list []string) {
	for e := range exports {
		if i.declined[e] && i.module.Has(e) {
			list = append(list, exportNames[e])
		}
	}
	return list
}

// Hold is how many tokens the guest may take back in its request.
func (i *Instance) Hold() int { return i.hold }

// Memory is all of the guest's memory. A call may grow it; it never moves.
func (i *Instance) Memory() []byte { return i.region.Bytes() }

// Emits reports whether the last call has called emit, which it may with an empty text.
func (i *Instance) Emits() bool { return i.emits }

// Emitted is the text that the last call handed to emit.
func (i *Instance) Emitted() string { return cleanText(i.emitted) }

// Fuel tells what the last call used of its fuel, in units.
func (i *Instance) Fuel() (used, limit int64) { return i.fuelLimit - i.meter.Left(), i.fuelLimit }

// Close frees the instance. With tell, penstock_close is called first, unless the guest faulted.
func (i *Instance) Close(tell bool) error {
	if tell && !i.unusable && i.Has(Close) {
		// A fault of the last call concerns no request any more; it was counted.
		_, _ = i.Call(Close, 0, 0)
	}
	i.unusable = true
	for _, g := range i.grammars {
		_ = g.Close() // a grammar has nothing to report that anyone could use
	}
	i.grammars = nil
	i.Buffers = Buffers{}
	return i.guest.Close(context.Background())
}
