// SPDX-License-Identifier: MIT

package main

import (
	"go/token"
	"go/types"
)

// interfaces lists the interfaces in the package's code, and those of the packages that it
// imports: functions there may look for them in a value.
func (p *typedPackage) interfaces() []*types.Interface {
	var found []*types.Interface
	add := func(t types.Type) {
		if in, ok := t.Underlying().(*types.Interface); ok && in.NumMethods() > 0 {
			found = append(found, in)
		}
	}
	for _, tv := range p.info.Types {
		if tv.IsType() {
			add(tv.Type)
		}
	}
	for _, imported := range p.types.Imports() {
		scope := imported.Scope()
		for _, name := range scope.Names() {
			if t, ok := scope.Lookup(name).(*types.TypeName); ok && t.Exported() {
				add(t.Type())
			}
		}
	}
	return found
}

// wellKnown lists error, and the interfaces without a name that package errors looks for.
func wellKnown() []*types.Interface {
	failure := types.Universe.Lookup("error").Type()
	method := func(name string, parameter, result types.Type) *types.Interface {
		var parameters *types.Tuple
		if parameter != nil {
			parameters = types.NewTuple(types.NewParam(token.NoPos, nil, "", parameter))
		}
		results := types.NewTuple(types.NewParam(token.NoPos, nil, "", result))
		f := types.NewFunc(token.NoPos, nil, name, types.NewSignatureType(nil, nil, nil, parameters, results, false))
		return types.NewInterfaceType([]*types.Func{f}, nil).Complete()
	}
	return []*types.Interface{
		failure.Underlying().(*types.Interface),
		method("Unwrap", nil, failure),
		method("Unwrap", nil, types.NewSlice(failure)),
		method("Is", failure, types.Typ[types.Bool]),
		method("As", types.Universe.Lookup("any").Type(), types.Typ[types.Bool]),
	}
}

// useThroughInterfaces marks the methods, embedded ones included, by which a type implements one
// of the interfaces.
func useThroughInterfaces(packages []*typedPackage, interfaces []*types.Interface, used map[types.Object]bool) {
	for _, p := range packages {
		for _, name := range p.types.Scope().Names() {
			t, ok := p.types.Scope().Lookup(name).(*types.TypeName)
			if !ok {
				continue
			}
			named, ok := t.Type().(*types.Named)
			if !ok {
				continue
			}
			for _, in := range interfaces {
				if implements(named, in) {
					markMethods(named, in, used)
				}
			}
		}
	}
}

// implements assumes that a generic type does: only its instances could tell.
func implements(t *types.Named, in *types.Interface) bool {
	return t.TypeParams().Len() > 0 || types.Implements(t, in) || types.Implements(types.NewPointer(t), in)
}

func markMethods(t *types.Named, in *types.Interface, used map[types.Object]bool) {
	for method := range in.Methods() {
		if object, _, _ := types.LookupFieldOrMethod(t, true, method.Pkg(), method.Name()); object != nil {
			used[origin(object)] = true
		}
	}
}
