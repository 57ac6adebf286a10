// SPDX-License-Identifier: MIT

package guest

import (
	"context"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/fuel"
	"github.com/penstock/penstock/host/plugin/memory"
)

// Instance is a module's instance at the service of one session. Calls must not overlap. After a fault only Close is
// left: a guest that trapped has a corrupt stack.
type Instance struct {
	Buffers Buffers // parts of its memory that the guest bound in open

	module  *Module
	session *Session
	guest   api.Module
	region  *memory.Region
	meter   *fuel.Meter

	functions [exports]api.Function // resolved at the first call: looking one up is slow
	stack     [2]uint64             // parameters and result of every call
	caller    caller

	running   Export
	started   time.Time
	deadline  time.Time     // of the call
	turnSince time.Time     // since when it is this instance's turn; zero: it has none
	yieldedAt time.Time     // when others were last let run
	waited    time.Duration // of the call
	fuelLimit int64         // fuel of the last call
	emitted   []byte
	refusal   []byte // what fail was given
	grammars  []plugin.Grammar
	clock     uint64 // of WASI, in ns
	unusable  bool
}

// caller is the context of all calls: host functions find their instance in it without a search.
type caller struct {
	context.Context
	instance *Instance
}

// Memory is all of the guest's memory. A call may grow it; it never moves.
func (i *Instance) Memory() []byte { return i.region.Bytes() }

// Emitted is the text that the last call handed to emit.
func (i *Instance) Emitted() string { return cleanText(i.emitted) }

// Fuel tells what the last call used of its fuel, in units.
func (i *Instance) Fuel() (used, limit int64) { return i.fuelLimit - i.meter.Left(), i.fuelLimit }

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

// Close frees the instance. With tell, penstock_close is called first, unless the guest faulted.
func (i *Instance) Close(tell bool) error {
	if tell && !i.unusable && i.module.Has(Close) {
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
