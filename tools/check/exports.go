// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
)

// testOnly lists the exported names that may be there for tests only, each with the reason.
var testOnly = map[string]string{
	"native.InjectFault":                   "the tests of three packages break kernels, which are in C",
	"native.NewAttentionTrial":             "tests and benchmarks of kernels, which are in C++",
	"native.AttentionTrial.Close":          "see NewAttentionTrial",
	"native.AttentionTrial.Compute":        "see NewAttentionTrial",
	"native.AttentionTrial.ComputePlainly": "see NewAttentionTrial",
	"native.NewProductTrial":               "see NewAttentionTrial",
	"native.ProductTrial.Close":            "see NewAttentionTrial",
	"native.ProductTrial.Compute":          "see NewAttentionTrial",
	"native.ProductTrial.ComputePlainly":   "see NewAttentionTrial",
	"native.AttentionTrial.PutQueries":     "see NewAttentionTrial",
	"native.AttentionTrial.PutCells":       "see NewAttentionTrial",
	"native.ProductTrial.PutWeights":       "see NewAttentionTrial",
	"native.ProductTrial.PutInputs":        "see NewAttentionTrial",
	"native.ProductTrial.PutExperts":       "see NewAttentionTrial",
	"native.Unguarded":                     "see NewAttentionTrial",
	"native.GuardBehind":                   "see NewAttentionTrial",
	"native.GuardBefore":                   "see NewAttentionTrial",
	"native.Crash":                         "see InjectFault",
	"tools/must.Get":                       "it is for tests, as all of its package",
	"tools/must.Both":                      "see tools/must.Get",
	"tools/must.Close":                     "see tools/must.Get",
	"native.NoFault":                       "see InjectFault",
	"native.WrongResult":                   "see InjectFault",
	"native.LiveObjects":                   "the tests of three packages look for leaks in C",
	"host/turns.Permits.Taken":             "tests of guests look for time slices that were not given back",
	"host/turns.Permits.Waiting":           "tests of guests know by it who waits for a time slice",
	"native/gguf/synth.MediaPair.Sees":     "tests of three packages encode pictures and sounds",
	"native/gguf/synth.MediaPair.Hears":    "tests of three packages encode pictures and sounds",
	"native/gguf/synth.Split":              "the tests of two packages divide models into several files",
	"native/gguf/synth.WithHead":           "tests of two packages guess with the head of a model with recurrent layers",
	"native/gguf/synth.WithBytes":          "tests write models of other architectures with a vocabulary of bytes",
}

// checkExports finds exported functions, types, methods, constants and variables that nothing but
// tests uses. Packages whose name ends in "test" are tests, too. The names of the module's own
// package are for the programs of others.
func checkExports() ([]string, error) {
	packages, err := loadTypes()
	if err != nil {
		return nil, err
	}
	return reportUnused(findUnused(packages), testOnly), nil
}

func reportUnused(unused []export, excepted map[string]string) []string {
	var findings []string
	met := map[string]bool{}
	for _, e := range unused {
		met[e.name()] = true
		if excepted[e.name()] == "" {
			findings = append(findings, fmt.Sprintf("nothing but tests uses %s (%s:%d)", e.name(), filepath.Base(e.at.Filename), e.at.Line))
		}
	}
	for name := range excepted {
		if !met[name] {
			findings = append(findings, name+" needs no exception: it is used, or gone")
		}
	}
	return findings
}

func findUnused(packages []*typedPackage) []export {
	used, interfaces := map[types.Object]bool{}, map[*types.Interface]bool{}
	for _, in := range wellKnown() {
		interfaces[in] = true
	}
	for _, p := range packages {
		if !p.isTest() {
			p.collectUses(used)
			p.collectInterfaces(interfaces)
		}
	}
	useEnums(packages, used)
	useThroughInterfaces(packages, interfaces, used)
	var unused []export
	for _, p := range packages {
		if p.isTest() || p.types.Path() == module {
			continue
		}
		for _, e := range p.exported() {
			if !used[e.object] {
				unused = append(unused, e)
			}
		}
	}
	return unused
}

// export is an exported name of a package, or of a type of it.
type export struct {
	object types.Object
	owner  *types.Named // whose method it is
	at     token.Position
}

// name is the full name without the module: host/api.Server.Close.
func (e export) name() string {
	name := strings.TrimPrefix(e.object.Pkg().Path(), module+"/") + "."
	if e.owner != nil {
		name += e.owner.Obj().Name() + "."
	}
	return name + e.object.Name()
}

// exported lists what the package's hand-written files export.
func (p *typedPackage) exported() []export {
	var exports []export
	add := func(object types.Object, owner *types.Named) {
		at := p.files.Position(object.Pos())
		if object.Exported() && !isGenerated(at.Filename) {
			exports = append(exports, export{object, owner, at})
		}
	}
	scope := p.types.Scope()
	for _, name := range scope.Names() {
		object := scope.Lookup(name)
		add(object, nil)
		if named, ok := object.Type().(*types.Named); ok && named.Obj() == object {
			for method := range named.Methods() {
				add(method, named)
			}
		}
	}
	return exports
}

// collectUses marks what the package mentions. A receiver does not count: a type is not used
// because it has methods.
func (p *typedPackage) collectUses(used map[types.Object]bool) {
	receivers := map[*ast.Ident]bool{}
	for _, file := range p.syntax {
		for _, declaration := range file.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv != nil {
				ast.Inspect(f.Recv, func(n ast.Node) bool {
					if ident, ok := n.(*ast.Ident); ok {
						receivers[ident] = true
					}
					return true
				})
			}
		}
	}
	for ident, object := range p.info.Uses {
		if !receivers[ident] {
			used[origin(object)] = true
		}
	}
}

// useEnums marks all constants of a type if one of them is used, since they are the values of the
// type.
func useEnums(packages []*typedPackage, used map[types.Object]bool) {
	enums := map[types.Type][]types.Object{}
	inUse := map[types.Type]bool{}
	for _, p := range packages {
		for _, name := range p.types.Scope().Names() {
			if c, ok := p.types.Scope().Lookup(name).(*types.Const); ok {
				if named, ok := c.Type().(*types.Named); ok {
					enums[named] = append(enums[named], c)
					inUse[named] = inUse[named] || used[c]
				}
			}
		}
	}
	for t, constants := range enums {
		for _, c := range constants {
			used[c] = used[c] || inUse[t]
		}
	}
}

// origin is the generic object of an instantiated one.
func origin(object types.Object) types.Object {
	switch object := object.(type) {
	case *types.Func:
		return object.Origin()
	case *types.Var:
		return object.Origin()
	}
	return object
}

// collectInterfaces adds the interfaces in the package's code, and those of the packages that it
// imports: functions there may look for them in a value.
func (p *typedPackage) collectInterfaces(found map[*types.Interface]bool) {
	add := func(t types.Type) {
		if in, ok := t.Underlying().(*types.Interface); ok && in.NumMethods() > 0 {
			found[in] = true
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
func useThroughInterfaces(packages []*typedPackage, interfaces map[*types.Interface]bool, used map[types.Object]bool) {
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
			for in := range interfaces {
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
