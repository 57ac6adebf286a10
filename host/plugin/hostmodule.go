// SPDX-License-Identifier: MIT

package plugin

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/penstock/penstock/host/plugin/fuel"
	"github.com/penstock/penstock/plugins/abi"
)

// hostFunction takes its parameters from the stack and leaves its result there. It ends the call by panicking with a
// *violation, which wazero turns into the call's error.
type hostFunction func(i *instance, stack []uint64)

// functions are the ABI's imports; their types are in the ABI's table.
var functions = map[string]hostFunction{
	abi.ImportConfig:        hostConfig,
	abi.ImportMessages:      hostMessages,
	abi.ImportHistory:       hostHistory,
	abi.ImportFeature:       hostFeature,
	abi.ImportParam:         hostParam,
	abi.ImportRandom:        hostRandom,
	abi.ImportVocabSize:     hostVocabSize,
	abi.ImportPiece:         hostPiece,
	abi.ImportVocab:         hostVocab,
	abi.ImportTokenAttr:     hostTokenAttr,
	abi.ImportSpecial:       hostSpecial,
	abi.ImportTokenize:      hostTokenize,
	abi.ImportBind:          hostBind,
	abi.ImportEmit:          hostEmit,
	abi.ImportFail:          hostFail,
	abi.ImportLog:           hostLog,
	abi.ImportGrammarOpen:   hostGrammarOpen,
	abi.ImportGrammarMask:   hostGrammarMask,
	abi.ImportGrammarAccept: hostGrammarAccept,
}

// callFuel is what every call of a host function costs besides what its entry in the ABI says: leaving and entering
// compiled code takes as long as so many instructions.
const callFuel = 128

// offer makes the host functions known to wazero.
func (e *engine) offer(ctx context.Context) error {
	if err := fuel.Offer(ctx, e.wazero); err != nil {
		return fmt.Errorf("failed to offer fuel: %w", err)
	}
	host := e.wazero.NewHostModuleBuilder(abi.Module)
	for _, s := range abi.Imports {
		export(host, s.Name, functions[s.Name], valueTypes(s.Params), valueTypes(s.Results))
	}
	if _, err := host.Instantiate(ctx); err != nil {
		return fmt.Errorf("failed to offer the host functions: %w", err)
	}
	system := e.wazero.NewHostModuleBuilder(wasiModule)
	for _, f := range wasi {
		export(system, f.name, f.run, wasiTypes(f.params), wasiTypes(f.results))
	}
	if _, err := system.Instantiate(ctx); err != nil {
		return fmt.Errorf("failed to offer WASI: %w", err)
	}
	return e.offerOptional(ctx)
}

func export(to wazero.HostModuleBuilder, name string, f hostFunction, params, results []api.ValueType) {
	run := api.GoFunc(func(ctx context.Context, stack []uint64) {
		i := ctx.(*caller).instance // all calls are made with one
		if !i.meter.Charge(callFuel) {
			panic(wrong(CauseFuel, "in a host function"))
		}
		f(i, stack)
	})
	to.NewFunctionBuilder().WithGoFunction(run, params, results).Export(name)
}

// valueTypes turns the ABI's names of types into wazero's.
func valueTypes(names []abi.Type) []api.ValueType {
	types := make([]api.ValueType, len(names))
	for i, name := range names {
		types[i] = map[abi.Type]api.ValueType{"i32": api.ValueTypeI32, "i64": api.ValueTypeI64}[name]
	}
	return types
}

// deliver writes data to (ptr, limit), in units of size bytes each, and leaves the number of units. Where they do not
// fit nothing is written.
func (i *instance) deliver(stack []uint64, ptr, limit uint64, size int, data []byte) {
	room := i.memory(uint64(uint32(ptr)), uint64(uint32(limit))*uint64(size))
	if len(data) <= len(room) {
		i.charge(len(data))
		copy(room, data)
	}
	stack[0] = uint64(uint32(len(data) / size))
}

// taken returns the bytes at (ptr, len) and charges for them.
func (i *instance) taken(ptr, n uint64) []byte {
	b := i.memory(uint64(uint32(ptr)), uint64(uint32(n)))
	i.charge(len(b))
	return b
}

// code is an i32 result.
func code(n int32) uint64 { return uint64(uint32(n)) }
