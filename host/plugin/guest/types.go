// SPDX-License-Identifier: MIT

package guest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tetratelabs/wazero/api"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/host/plugin/fuel"
	"github.com/penstock/penstock/plugins/abi"
)

// checkExports checks the exports' types, and notes which there are.
func (m *Module) checkExports() error {
	found := m.code.Compiled.ExportedFunctions()
	if _, ok := m.code.Compiled.ExportedMemories()["memory"]; !ok {
		return fmt.Errorf("%w: it exports no memory named \"memory\"", plugin.ErrExport)
	}
	for _, want := range abi.Exports {
		got, ok := found[want.Name]
		if !ok {
			continue
		}
		if have, need := typeOf(got), typeName(want.Params, want.Results); have != need {
			return fmt.Errorf("%w: %s has type %s, it must have %s", plugin.ErrExport, want.Name, have, need)
		}
		m.Exports = append(m.Exports, want.Name)
	}
	if !slices.Contains(m.Exports, abi.ExportDescribe) {
		return fmt.Errorf("%w: it does not export %s, which gives the manifest", plugin.ErrExport, abi.ExportDescribe)
	}
	for e := Start; e < exports; e++ {
		if f, ok := found[exportNames[e]]; ok {
			m.has[e], m.answers[e] = true, len(f.ResultTypes()) > 0
		}
	}
	return nil
}

// offered has the types of all host functions, by module and name.
var offered = sync.OnceValue(func() map[string]map[string]string {
	types := map[string]map[string]string{abi.Module: {}, wasiModule: {}}
	for _, s := range abi.Imports {
		types[abi.Module][s.Name] = typeName(s.Params, s.Results)
	}
	for _, f := range wasi {
		types[wasiModule][f.name] = typeName(names(wasiTypes(f.params)), names(wasiTypes(f.results)))
	}
	return types
})

// checkImports looks for functions that are unknown or have another type.
func checkImports(imports []api.FunctionDefinition) error {
	offered := offered()
	for _, f := range imports {
		module, name, _ := f.Import()
		if module == fuel.ImportModule {
			continue // the rewriter's own
		}
		if module == abi.Optional {
			if err := checkOptional(f, offered[abi.Module]); err != nil {
				return err
			}
			continue
		}
		functions, ok := offered[module]
		if !ok {
			return fmt.Errorf("%w: module %q; offered are %s", plugin.ErrImport, module, strings.Join(slices.Sorted(maps.Keys(offered)), " and "))
		}
		need, ok := functions[name]
		if !ok {
			return fmt.Errorf("%w: %s.%s; see docs/abi/v1.md for what there is", plugin.ErrImport, module, name)
		}
		if have := typeOf(f); have != need {
			return fmt.Errorf("%w: %s.%s with type %s, it has %s", plugin.ErrImport, module, name, have, need)
		}
	}
	return nil
}

func typeOf(f api.FunctionDefinition) string {
	return typeName(names(f.ParamTypes()), names(f.ResultTypes()))
}

func names(types []api.ValueType) []string {
	list := make([]string, len(types))
	for i, t := range types {
		list[i] = api.ValueTypeName(t)
	}
	return list
}

func typeName(params, results []string) string {
	return "(" + strings.Join(params, " ") + ") → (" + strings.Join(results, " ") + ")"
}
