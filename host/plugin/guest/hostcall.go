// SPDX-License-Identifier: MIT

package guest

import (
	"context"
	"fmt"
	"slices"
	"unsafe"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/compile"
	"github.com/penstock/penstock/host/plugin/fuel"
	"github.com/penstock/penstock/plugins/abi"
)

// hostFunction answers a call of an import, whose memory is checked and whose cost by the table is
// paid. What it returns is the import's result. It ends the call of the export by panicking with a
// *Violation.
type hostFunction func(i *Instance, c *call) uint64

// function is an import as the ABI's table describes it, and what answers it.
type function struct {
	*abi.Signature
	run hostFunction
	in  [exports]bool // where it may be called
}

// call is a call of a host function.
type call struct {
	stack []uint64  // the parameters; the result replaces the first
	in    [2][]byte // what it reads in guest memory, by the entries of the signature's Memory
	out   []byte    // the part of guest memory that it may write
	whole []byte    // what was to be written there
	err   error     // why the host has no answer, for a watcher
	// unseen: a watcher is not told, since the call changes nothing.
	unseen bool
}

// i32 and u32 read a parameter.
func (c *call) i32(param int) int32  { return int32(uint32(c.stack[param])) }
func (c *call) u32(param int) uint32 { return uint32(c.stack[param]) }

// newFunction joins a host function with its entry in the ABI's table.
func newFunction(name string, run hostFunction) *function {
	f := &function{Signature: abi.Import(name), run: run}
	for e := none; e < exports; e++ {
		f.in[e] = f.In == nil
		for _, allowed := range f.In {
			f.in[e] = f.in[e] || exportNames[e] == allowed
		}
	}
	return f
}

// call runs a host function. The checks and charges of the ABI's table come first.
func (f *function) call(i *Instance, stack []uint64) {
	if !f.in[i.running] {
		panic(Violationf(plugin.CauseCall, "%s belongs to %s", f.Name, joinNames(f.In)))
	}
	c := &i.call
	*c = call{stack: stack}
	if f.Record != abi.NotRecorded && (i.session.Watcher != nil || i.module.Env.Replay != nil) {
		f.callWatched(i, c)
	} else {
		f.marshal(i, c)
		f.charge(i, c)
		if answer := f.run(i, c); len(f.Results) > 0 {
			stack[0] = answer
		}
	}
	c.whole = nil // an instance may live long, and need not keep the text alive
}

// joinNames joins names with commas and "and".
func joinNames(names []string) string {
	text := names[0]
	for k, name := range names[1:] {
		if k == len(names)-2 {
			text += " and " + name
		} else {
			text += ", " + name
		}
	}
	return text
}

// marshal finds the memory that a call reads and writes.
func (f *function) marshal(i *Instance, c *call) {
	for k := range f.Memory {
		m := &f.Memory[k]
		at, n := uint64(uint32(c.stack[m.At])), uint64(uint32(c.stack[m.N]))
		if m.Most > 0 && n > m.Most {
			panic(Violationf(plugin.CauseCall, "%s with a list of %d; %d are the most", f.Name, n, m.Most))
		}
		switch {
		case m.Access == abi.Keep, m.Null && (at == 0 || n == 0):
		case m.Access == abi.Write:
			c.out = i.bytesAt(at, m.List.Size(n))
		default:
			c.in[k] = i.bytesAt(at, m.List.Size(n))
		}
	}
}

// charge takes the table's price of a call. Before a call that may take longer than its price says,
// other guests may run.
func (f *function) charge(i *Instance, c *call) {
	if f.Long {
		i.pauseBefore()
	}
	cost := &f.Cost
	units, per := cost.Fixed, uint64(1)
	if cost.Byte > 0 || cost.Read {
		for _, b := range c.in {
			units += cost.Byte * uint64(len(b))
			if cost.Read {
				units += uint64(len(b)) / 16
			}
		}
	}
	if cost.Vocabulary > 0 || cost.Each > 0 {
		if cost.Per >= 0 {
			per = uint64(uint32(c.stack[cost.Per]))
		}
		units += per * (cost.Each + cost.Vocabulary*uint64(i.module.Env.Vocabulary.Size()))
	}
	if units > 0 && !i.meter.Charge(units) {
		panic(i.outOfFuel("in " + f.Name))
	}
}

// write writes data where a call may, in units of size bytes each, charges for it and returns how
// many units there are. If they do not fit, nothing is written.
func (c *call) write(i *Instance, size int, data []byte) uint64 {
	if c.whole = data; len(data) <= len(c.out) {
		i.chargeBytes(len(data))
		copy(c.out, data)
	}
	return uint64(uint32(len(data) / size))
}

// text writes a text.
func (c *call) text(i *Instance, text string) uint64 {
	return c.write(i, 1, unsafe.Slice(unsafe.StringData(text), len(text)))
}

// tokens reads a list of tokens that the guest gave. Rows of pictures and sounds have tokens below
// 0, which belong to the scheduler: no guest may name them.
func (c *call) tokens(i *Instance, list int) []int32 {
	tokens := readTokens(c.in[list])
	for _, t := range tokens {
		if !i.isToken(t) {
			panic(Violationf(plugin.CauseCall, "token %d is not in the vocabulary of %d", uint32(t), i.module.Env.Vocabulary.Size()))
		}
	}
	return tokens
}

// rawFunction takes its parameters from the stack and leaves its result there. It ends the call
// by panicking with a *Violation, which wazero turns into the call's error.
type rawFunction func(i *Instance, stack []uint64)

// functions maps the ABI's imports to the functions that answer them.
var functions = func() map[string]*function {
	all := map[string]*function{}
	for _, some := range []map[string]hostFunction{
		requestFunctions, resultFunctions, vocabularyFunctions, grammarFunctions, branchFunctions, rowFunctions, drawFunctions,
	} {
		for name, run := range some {
			all[name] = newFunction(name, run)
		}
	}
	return all
}()

// offer adds the host functions that a module imports to its runtime; checkImports has checked
// their types. wazero writes machine code for each, so functions that are not imported are left
// out. An optional one that the host does not have ends the call.
func offer(ctx context.Context, code *compile.Code) error {
	if err := fuel.Offer(ctx, code.Runtime); err != nil {
		return fmt.Errorf("failed to offer fuel: %w", err)
	}
	hosts := map[string]wazero.HostModuleBuilder{}
	type function struct{ module, name string }
	offered := map[function]bool{}
	for _, f := range code.Compiled.ImportedFunctions() {
		module, name, _ := f.Import()
		if module == fuel.ImportModule || offered[function{module, name}] {
			continue
		}
		offered[function{module, name}] = true
		if hosts[module] == nil {
			hosts[module] = code.Runtime.NewHostModuleBuilder(module)
		}
		define(hosts[module], name, implementationOf(module, name), f.ParamTypes(), f.ResultTypes())
	}
	for module, host := range hosts {
		if _, err := host.Instantiate(ctx); err != nil {
			return fmt.Errorf("failed to offer the functions of %s: %w", module, err)
		}
	}
	return nil
}

// implementationOf finds the function that answers an import.
func implementationOf(module, name string) rawFunction {
	if module == wasiModule {
		return wasi[slices.IndexFunc(wasi, func(f wasiFunction) bool { return f.name == name })].run
	}
	if f := functions[name]; f != nil {
		return f.call
	}
	return missing(name)
}

// define adds one function, which charges for the call itself.
func define(to wazero.HostModuleBuilder, name string, f rawFunction, params, results []api.ValueType) {
	run := api.GoFunc(func(ctx context.Context, stack []uint64) {
		i := ctx.(*caller).instance // all calls are made with one
		i.charge(callFuel)
		f(i, stack)
	})
	to.NewFunctionBuilder().WithGoFunction(run, params, results).Export(name)
}

// i32 encodes an i32 result.
func i32(n int32) uint64 { return uint64(uint32(n)) }

// callFuel is what every call of a host function costs besides what its entry in the ABI says:
// leaving and entering compiled code takes as long as 128 instructions.
const callFuel = 128

// charge takes fuel for the work of a host function. It ends the call if too little is left. A
// guest's own code charges for itself: package fuel has written that into it.
func (i *Instance) charge(units uint64) {
	if !i.meter.Charge(units) {
		panic(i.outOfFuel("in a host function"))
	}
}

// chargeBytes charges for n bytes.
func (i *Instance) chargeBytes(n int) { i.charge(uint64(n) / 16) }

// outOfFuel returns the violation of a call that used up its fuel; where says at which place.
func (i *Instance) outOfFuel(where string) *Violation {
	if all := i.module.Env.Limits.ProgramFuel; i.branches != nil && i.fuelLimit >= all {
		return Violationf(plugin.CauseFuel, "%s: a program has %d units for all of its work (programs.fuel)", where, all)
	}
	return Violationf(plugin.CauseFuel, "%s", where)
}
