// SPDX-License-Identifier: MIT

package guest

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero/api"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/compile"
	"github.com/penstock/penstock/plugins/abi"
)

// offerOptional makes the functions known that a module imports as optional. What the host has is the same function; what it
// does not have is one that ends the call.
func offerOptional(ctx context.Context, code *compile.Code) error {
	host := code.Runtime.NewHostModuleBuilder(abi.Optional)
	offered := map[string]bool{}
	for _, f := range code.Module.ImportedFunctions() {
		module, name, _ := f.Import()
		if module != abi.Optional || offered[name] {
			continue
		}
		offered[name] = true
		run := functions[name]
		if run == nil {
			run = missing(name)
		}
		define(host, name, run, f.ParamTypes(), f.ResultTypes())
	}
	if len(offered) == 0 {
		return nil
	}
	if _, err := host.Instantiate(ctx); err != nil {
		return fmt.Errorf("failed to offer optional functions: %w", err)
	}
	return nil
}

// missing is what a plugin calls that did not ask for a feature first.
func missing(name string) hostFunction {
	return func(*Instance, []uint64) {
		panic(Violationf(plugin.CauseCall, "this host has no %s; ask feature before calling what is optional", name))
	}
}

// checkOptional checks the type of an optional import that the host has. Of one that it lacks, no type is wrong.
func checkOptional(f api.FunctionDefinition, need map[string]string) error {
	_, name, _ := f.Import()
	if want, ok := need[name]; ok && typeOf(f) != want {
		return fmt.Errorf("%w: %s.%s with type %s, it has %s", plugin.ErrImport, abi.Optional, name, typeOf(f), want)
	}
	return nil
}
