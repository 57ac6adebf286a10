// SPDX-License-Identifier: MIT

package guest

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/penstock/penstock/host/plugin/compile"
	"github.com/penstock/penstock/host/plugin/fuel"
	"github.com/penstock/penstock/plugins/abi"
)

// hostFunction takes its parameters from the stack and leaves its result there. It ends the call by panicking with a
// *Violation, which wazero turns into the call's error.
type hostFunction func(i *Instance, stack []uint64)

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

// offer makes the host functions known to wazero.
func offer(ctx context.Context, code *compile.Code) error {
	if err := fuel.Offer(ctx, code.Runtime); err != nil {
		return fmt.Errorf("failed to offer fuel: %w", err)
	}
	host := code.Runtime.NewHostModuleBuilder(abi.Module)
	for _, s := range abi.Imports {
		define(host, s.Name, functions[s.Name], valueTypes(s.Params), valueTypes(s.Results))
	}
	if _, err := host.Instantiate(ctx); err != nil {
		return fmt.Errorf("failed to offer the host functions: %w", err)
	}
	system := code.Runtime.NewHostModuleBuilder(wasiModule)
	for _, f := range wasi {
		define(system, f.name, f.run, wasiTypes(f.params), wasiTypes(f.results))
	}
	if _, err := system.Instantiate(ctx); err != nil {
		return fmt.Errorf("failed to offer WASI: %w", err)
	}
	return offerOptional(ctx, code)
}

// define makes one function known. All of them charge for the call itself.
func define(to wazero.HostModuleBuilder, name string, f hostFunction, params, results []api.ValueType) {
	run := api.GoFunc(func(ctx context.Context, stack []uint64) {
		i := ctx.(*caller).instance // all calls are made with one
		i.charge(callFuel)
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

// i32 is an i32 result.
func i32(n int32) uint64 { return uint64(uint32(n)) }
