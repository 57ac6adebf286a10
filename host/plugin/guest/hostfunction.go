// SPDX-License-Identifier: MIT

package guest

import (
	"context"
	"fmt"
	"slices"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/penstock/penstock/host/plugin/compile"
	"github.com/penstock/penstock/host/plugin/fuel"
)

// rawFunction takes its parameters from the stack and leaves its result there. It ends the call
// by panicking with a *Violation, which wazero turns into the call's error.
type rawFunction func(i *Instance, stack []uint64)

// functions are what answers the ABI's imports, by their names.
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

// offer makes the host functions that a module imports known to its runtime; checkImports has
// looked at their types. wazero writes machine code for each, so the others are left out. Of the
// optional ones, one that the host does not have ends the call.
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
		define(hosts[module], name, implementation(module, name), f.ParamTypes(), f.ResultTypes())
	}
	for module, host := range hosts {
		if _, err := host.Instantiate(ctx); err != nil {
			return fmt.Errorf("failed to offer the functions of %s: %w", module, err)
		}
	}
	return nil
}

// implementation is what runs where a module imports a function.
func implementation(module, name string) rawFunction {
	if module == wasiModule {
		return wasi[slices.IndexFunc(wasi, func(f wasiFunction) bool { return f.name == name })].run
	}
	if f := functions[name]; f != nil {
		return f.call
	}
	return missing(name)
}

// define makes one function known. All of them charge for the call itself.
func define(to wazero.HostModuleBuilder, name string, f rawFunction, params, results []api.ValueType) {
	run := api.GoFunc(func(ctx context.Context, stack []uint64) {
		i := ctx.(*caller).instance // all calls are made with one
		i.charge(callFuel)
		f(i, stack)
	})
	to.NewFunctionBuilder().WithGoFunction(run, params, results).Export(name)
}

// i32 is an i32 result.
func i32(n int32) uint64 { return uint64(uint32(n)) }
