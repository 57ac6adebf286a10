// SPDX-License-Identifier: MIT

package fuel

import (
	"fmt"
	"unicode/utf8"
)

// signature is a function type. The slices alias the module.
type signature struct{ params, results []byte }

// module is what Rewrite knows of the original. Counts are of the original
// alone, so an index of anything appended fails the check against them.
type module struct {
	limits    Limits
	types     []signature
	functions []uint32 // type of each function, imported ones first
	imported  int      // functions
	tables    int
	memories  int
	// memoryPages is what the memory may become.
	memoryPages uint32

	globals  int
	elements int
	datas    int  // as the data count section says
	counted  bool // whether that section is there
	start    int  // function index, −1 = none

	mutable   []uint32 // indices of mutable globals of numeric types
	immovable string   // why instances cannot start from a snapshot; empty = they can

	names    *reader // the custom section "name"; nil: none
	lined    bool    // it says which lines its code is from
	codeBase int     // where the code section's content begins
	moves    Moves   // of all functions so far, if it is lined

	refillType uint32         // index in the rewritten module
	extraTypes []signature    // appended types
	extraIndex map[string]int // their places in extraTypes
}

// blockOf returns the encoded type of a block without parameters that yields
// results, appending a function type if one is needed.
func (m *module) blockOf(results []byte) []byte {
	switch len(results) {
	case 0:
		return []byte{emptyBlock}
	case 1:
		return results
	}
	return appendSigned(nil, int64(len(m.types))+int64(m.appendType(signature{results: results})))
}

// appendType appends a type unless it was appended before, and returns its place
// among the appended ones.
func (m *module) appendType(s signature) uint32 {
	key := string(s.params) + "→" + string(s.results)
	i, ok := m.extraIndex[key]
	if !ok {
		i = len(m.extraTypes)
		m.extraTypes = append(m.extraTypes, s)
		m.extraIndex[key] = i
	}
	return uint32(i)
}

// movedIndex returns the index that an original function has in the rewritten
// module: the import of refill comes after the original's imports.
func (m *module) movedIndex(function int) uint32 {
	if function >= m.imported {
		function++
	}
	return uint32(function)
}

// refillIndex, fillIndex and copyIndex are the indices of the appended functions.
// The last two exist only in a module with a memory.
func (m *module) refillIndex() uint32 { return uint32(m.imported) }
func (m *module) fillIndex() uint32   { return uint32(len(m.functions) + 1) }
func (m *module) copyIndex() uint32   { return m.fillIndex() + 1 }

// fuelGlobal and stackGlobal are the indices of the appended counters.
func (m *module) fuelGlobal() uint32  { return uint32(m.globals) }
func (m *module) stackGlobal() uint32 { return uint32(m.globals + 1) }

// Section ids of the binary format.
const (
	secCustom = iota
	secType
	secImport
	secFunction
	secTable
	secMemory
	secGlobal
	secExport
	secStart
	secElement
	secCode
	secData
	secDataCount
	sections
)

// order is the order in which sections stand, which is not that of their ids.
var order = [...]byte{secType, secImport, secFunction, secTable, secMemory, secGlobal, secExport, secStart, secElement, secDataCount, secCode, secData}

// layout holds a reader for each section; nil = absent.
type layout struct {
	body  [sections]*reader
	names *reader // the custom section "name", after its name
	lined bool    // it has a section ".debug_line"
}

// mostCustom bounds the custom sections. Toolchains write about ten.
const mostCustom = 1000

// splitSections cuts the module into sections and checks their order. Custom
// sections other than the first "name" are dropped.
func splitSections(wasm []byte) (*layout, error) {
	r := &reader{data: wasm}
	if magic := r.bytes(8); string(magic) != "\x00asm\x01\x00\x00\x00" {
		r.err = nil
		r.fail(ErrMalformed, "no WebAssembly 1 header")
		return nil, r.err
	}
	var rank [sections]int
	for i, id := range order {
		rank[id] = i + 1
	}
	l, last, custom := &layout{}, 0, 0
	for r.more() {
		id := r.byte()
		body := r.sub(int(r.u32()))
		switch {
		case r.err != nil:
		case id == secCustom && custom == mostCustom:
			r.fail(ErrLimit, "more than %d custom sections", mostCustom)
		case id == secCustom:
			custom++
			if name := string(body.bytes(int(body.u32()))); body.err != nil {
				return nil, body.err
			} else if name == "name" && l.names == nil {
				l.names = body
			} else if name == ".debug_line" {
				l.lined = true
			}
		case int(id) >= sections:
			r.fail(ErrUnsupported, "section %d", id)
		case rank[id] <= last:
			r.fail(ErrMalformed, "section %d out of order or twice", id)
		default:
			last, l.body[id] = rank[id], body
		}
	}
	return l, r.err
}

// patch copies a section, or a part of one, from where it began up to where
// done is called; indices of functions are replaced on the way.
type patch struct {
	*module
	in     *reader
	out    []byte
	copied int // in.data up to here is in out
}

func newPatch(m *module, in *reader) *patch { return &patch{module: m, in: in, copied: in.pos} }

// copyFunctionIndex copies the index of a function, moved, and returns the original.
func (p *patch) copyFunctionIndex() int {
	at := p.in.pos
	i := p.in.index(len(p.functions), "function")
	p.out = append(p.out, p.in.data[p.copied:at]...)
	p.out = appendU32(p.out, p.movedIndex(i))
	p.copied = p.in.pos
	return i
}

// finish copies the rest and returns the copy.
func (p *patch) finish() []byte {
	p.out = append(p.out, p.in.data[p.copied:p.in.pos]...)
	p.copied = p.in.pos
	return p.out
}

// copyConstant copies and checks a constant expression of WebAssembly 2.0. It has
// no globals, since none can be imported.
func (p *patch) copyConstant() {
	r := p.in
	switch opcode := r.byte(); opcode {
	case 0x41:
		r.signed(32)
	case 0x42:
		r.signed(64)
	case 0x43:
		r.bytes(4)
	case 0x44:
		r.bytes(8)
	case 0xd0:
		if t := r.byte(); !isReferenceType(t) {
			r.fail(ErrUnsupported, "reference type %#x", t)
		}
	case 0xd2:
		p.copyFunctionIndex()
	case 0xfd:
		if sub := r.byte(); sub != 0x0c {
			r.fail(ErrUnsupported, "vector opcode %#x in a constant", sub)
		}
		r.bytes(16)
	default:
		r.fail(ErrUnsupported, "opcode %#x in a constant", opcode)
	}
	if r.byte() != opEnd {
		r.fail(ErrUnsupported, "a constant of several instructions")
	}
}

// longestName bounds a function's name in bytes; mangled names of Rust stay
// far below it.
const longestName = 4096

// functionNames returns a custom section "name" with the function names of
// the original, which traps then show; nil if there are none. A malformed
// section is dropped, as it must not make a module invalid.
func (m *module) functionNames() []byte {
	names := m.nameMap()
	if names == nil {
		return nil
	}
	p := newPatch(m, names)
	if !p.copyNames(func(int, []byte) {}) {
		return nil
	}
	return appendSection(appendName(nil, "name"), 1, p.finish())
}

// nameMap finds the map of function names; nil: there is none.
func (m *module) nameMap() *reader {
	if m.names == nil {
		return nil
	}
	for r := *m.names; r.more(); {
		id := r.byte()
		if sub := r.sub(int(r.u32())); id == 1 && r.err == nil {
			return sub
		}
	}
	return nil
}

// describeName returns what an error adds to a function's index to name it.
func (m *module) describeName(function int) string {
	found := ""
	if names := m.nameMap(); names != nil {
		newPatch(m, names).copyNames(func(i int, name []byte) {
			if i == function {
				found = string(name)
			}
		})
	}
	if found == "" {
		return " (a build with --debug names it)"
	}
	return fmt.Sprintf(" (%.200q)", found)
}

// copyNames copies the map of names, and reports whether it is well-formed.
func (p *patch) copyNames(each func(function int, name []byte)) bool {
	r, last := p.in, -1
	for range r.count(len(p.functions), "names") {
		i := p.copyFunctionIndex()
		name := r.bytes(int(r.u32()))
		if r.err != nil || i <= last || len(name) > longestName || !utf8.Valid(name) {
			return false
		}
		each(i, name)
		last = i
	}
	return r.done() == nil
}

// Exports reports whether a module exports a name, from its sections and its list of exports
// alone: a question that is answered before anything costs time. Errors are those of Rewrite.
func Exports(wasm []byte, name string, limits Limits) (bool, error) {
	l, err := splitSections(wasm)
	if err != nil {
		return false, err
	}
	r := l.body[secExport]
	if r == nil {
		return false, nil
	}
	m, found := &module{limits: limits}, false
	for range r.count(limits.Exports, "exports") {
		found = m.readSymbol(r) == name || found
		r.byte() // what it is, and which
		r.u32()
		if r.err != nil {
			break
		}
	}
	return found, r.err
}
