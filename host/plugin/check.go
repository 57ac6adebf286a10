// SPDX-License-Identifier: MIT

package plugin

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero/api"

	"github.com/penstock/penstock/host/plugin/fuel"
	"github.com/penstock/penstock/plugins/abi"
)

// checkTypes checks exports and imports against the ABI, before any of the module's code runs, and notes what it exports.
func (m *Module) checkTypes() error {
	exports := m.engine.compiled.ExportedFunctions()
	if _, ok := m.engine.compiled.ExportedMemories()["memory"]; !ok {
		return fmt.Errorf("%w: it exports no memory named \"memory\"", ErrExport)
	}
	for _, want := range abi.Exports {
		got, ok := exports[want.Name]
		if !ok {
			continue
		}
		if have, need := typeOf(got), typeName(want.Params, want.Results); have != need {
			return fmt.Errorf("%w: %s has type %s, it must have %s", ErrExport, want.Name, have, need)
		}
		m.Exports = append(m.Exports, want.Name)
	}
	if !slices.Contains(m.Exports, abi.ExportDescribe) {
		return fmt.Errorf("%w: it does not export %s, which gives the manifest", ErrExport, abi.ExportDescribe)
	}
	for h := hookStart; h < hooks; h++ {
		if f, ok := exports[hookNames[h]]; ok {
			m.has[h], m.answers[h] = true, len(f.ResultTypes()) > 0
		}
	}
	return checkImports(m.engine.compiled.ImportedFunctions())
}

// checkImports looks for functions that are unknown or have another type.
func checkImports(imports []api.FunctionDefinition) error {
	offered := map[string]map[string]string{abi.Module: {}, wasiModule: {}}
	for _, s := range abi.Imports {
		offered[abi.Module][s.Name] = typeName(s.Params, s.Results)
	}
	for _, f := range wasi {
		offered[wasiModule][f.name] = typeName(names(wasiTypes(f.params)), names(wasiTypes(f.results)))
	}
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
			return fmt.Errorf("%w: module %q; offered are %s", ErrImport, module, strings.Join(slices.Sorted(maps.Keys(offered)), " and "))
		}
		need, ok := functions[name]
		if !ok {
			return fmt.Errorf("%w: %s.%s; see docs/abi/v1.md for what there is", ErrImport, module, name)
		}
		if have := typeOf(f); have != need {
			return fmt.Errorf("%w: %s.%s with type %s, it has %s", ErrImport, module, name, have, need)
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
