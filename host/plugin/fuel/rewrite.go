// SPDX-License-Identifier: MIT

package fuel

import "fmt"

// Names of what Rewrite appends. The prefix is refused in a module's own
// exports.
const (
	private      = "penstock:"
	FuelExport   = private + "fuel"
	StackExport  = private + "stack"
	StartExport  = private + "start"
	globalPrefix = private + "global:"
)

// Module is a metered module and what a host must know of it.
type Module struct {
	Wasm []byte // the rewritten module

	// Start reports that the original had a start function. Instantiating
	// the rewritten module runs no guest code; the host calls StartExport
	// under a limit, before anything else.
	Start bool

	// Globals are the exported names of all mutable numeric globals, which
	// together with memory are what a snapshot of an instance consists of.
	Globals []string

	// MemoryPages is how many pages of 64 KiB its memory may have. The rewritten module does not say
	// so: the memory that the host gives it keeps to it.
	MemoryPages uint32

	// Immovable says why no snapshot can be taken; empty = one can.
	Immovable string

	// Moves tell where code was before; none unless the module says which lines it is from.
	Moves Moves
}

// Rewrite validates what metering rests on and inserts it. The result behaves
// as the original as long as fuel and stack last, and must still be compiled,
// which validates the rest (types above all). Errors wrap ErrMalformed,
// ErrUnsupported or ErrLimit.
func Rewrite(wasm []byte, limits Limits) (*Module, error) {
	if len(wasm) > limits.ModuleBytes {
		return nil, fmt.Errorf("%d bytes, at most %d are allowed: %w", len(wasm), limits.ModuleBytes, ErrLimit)
	}
	l, err := split(wasm)
	if err != nil {
		return nil, err
	}
	m := &module{limits: limits, start: -1, extraIndex: map[string]int{}, lined: l.lined, names: l.names}
	m.refillType = m.extraType(signature{params: []byte{typeI64}, results: []byte{typeI64}})
	var out [sections][]byte
	for _, step := range steps {
		r := l.body[step.id]
		if r == nil {
			r = &reader{}
			if step.always {
				r.data = []byte{0} // an absent section is an empty vector
			} else {
				continue
			}
		}
		body := step.rewrite(m, r)
		if err := r.done(); err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
		out[step.id] = body
	}
	out[secType] = m.typeSection(l.body[secType])
	return m.assemble(out, m.functionNames()), nil
}

// steps read sections in an order in which each finds the counts it needs.
// The type section is written last, since code may append block types.
var steps = []struct {
	id      byte
	name    string
	always  bool // run for an absent section too
	rewrite func(*module, *reader) []byte
}{
	{secType, "type section", false, (*module).readTypes},
	{secImport, "import section", true, (*module).rewriteImports},
	{secMemory, "memory section", false, (*module).rewriteMemory},
	{secFunction, "function section", true, (*module).rewriteFunctions},
	{secTable, "table section", false, (*module).rewriteTables},
	{secGlobal, "global section", true, (*module).rewriteGlobals},
	{secStart, "start section", false, (*module).readStart},
	{secExport, "export section", true, (*module).rewriteExports},
	{secElement, "element section", false, (*module).rewriteElements},
	{secDataCount, "data count section", false, (*module).readDataCount},
	{secCode, "code section", true, (*module).rewriteCode},
	{secData, "data section", true, (*module).rewriteData},
}

// assemble writes the module; a start section is left out on purpose.
func (m *module) assemble(out [sections][]byte, names []byte) *Module {
	size := 8
	for _, b := range out {
		size += len(b) + 8
	}
	wasm := append(make([]byte, 0, size+len(names)+len(anyPlace)+8), "\x00asm\x01\x00\x00\x00"...)
	for _, id := range order {
		if id != secStart && len(out[id]) > 0 {
			wasm = appendSection(wasm, id, out[id])
		}
	}
	if names != nil {
		wasm = appendSection(wasm, secCustom, names)
	}
	if len(m.moves) > 0 {
		wasm = append(wasm, anyPlace...)
	}
	result := &Module{Wasm: wasm, Start: m.start >= 0, MemoryPages: m.memoryPages, Immovable: m.immovable, Moves: m.moves}
	for _, i := range m.mutable {
		result.Globals = append(result.Globals, globalName(i))
	}
	return result
}

func globalName(i uint32) string { return fmt.Sprintf("%s%d", globalPrefix, i) }
