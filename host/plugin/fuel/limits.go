// SPDX-License-Identifier: MIT

package fuel

import "github.com/penstock/penstock/plugins/abi"

// Limits bound what Rewrite accepts. They keep the time and memory of
// rewriting and compiling in proportion to the module's size.
type Limits struct {
	ModuleBytes   int // the module as given
	BodyBytes     int // one function's body, local declarations included
	Types         int // function types
	Imports       int
	Functions     int // imported ones included
	Exports       int
	Symbol        int    // bytes of the name of an import or export
	Segments      int    // of data, and of elements
	Locals        int    // of one function, parameters included
	AllLocals     int    // of all functions
	Arity         int    // parameters of a function type, and results
	Nesting       int    // blocks inside one another
	Globals       int    // defined globals
	Tables        int    // defined tables
	TableElements uint32 // all tables together, written into the module; and all segments together
	MemoryPages   uint32 // of 64 KiB; see Module.MemoryPages
	FunctionWork  int64  // of compiling one function, see shape
	Work          int64  // of compiling all of them
}

// DefaultLimits returns the limits of ABI v1, and for what it does not name
// bounds that no known toolchain comes near.
func DefaultLimits() Limits {
	return Limits{
		ModuleBytes:   abi.LimitModuleBytes,
		BodyBytes:     abi.LimitBodyBytes,
		Types:         abi.LimitTypes,
		Imports:       abi.LimitImports,
		Functions:     abi.LimitFunctions,
		Exports:       abi.LimitExports,
		Symbol:        abi.LimitSymbolBytes,
		Segments:      abi.LimitSegments,
		Locals:        abi.LimitLocals,
		AllLocals:     abi.LimitAllLocals,
		Arity:         abi.LimitArity,
		Nesting:       20_000,
		Globals:       abi.LimitGlobals,
		Tables:        64,
		TableElements: abi.LimitTableElements,
		MemoryPages:   abi.LimitMemoryPages,
		FunctionWork:  1 << 24,
		Work:          3 << 25,
	}
}
