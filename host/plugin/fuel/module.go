// SPDX-License-Identifier: MIT

package fuel

import (
	"fmt"
	"unicode/utf8"
)

// reader walks over bytes with bounds checks. The first error sticks, and
// every later read returns zero, so that a caller may check once for several
// reads; a loop must check err in each round.
type reader struct {
	data []byte
	pos  int
	base int // offset of data in the module, for messages
	err  error
}

func (r *reader) fail(kind error, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%s at byte %d: %w", fmt.Sprintf(format, args...), r.base+r.pos, kind)
	}
}

func (r *reader) left() int { return len(r.data) - r.pos }

func (r *reader) more() bool { return r.err == nil && r.pos < len(r.data) }

func (r *reader) byte() byte {
	if r.err != nil || r.pos >= len(r.data) {
		r.fail(ErrMalformed, "unexpected end")
		return 0
	}
	r.pos++
	return r.data[r.pos-1]
}

// bytes returns the next n bytes without copying them.
func (r *reader) bytes(n int) []byte {
	if r.err != nil || n < 0 || n > r.left() {
		r.fail(ErrMalformed, "%d bytes expected, %d left", n, r.left())
		return nil
	}
	r.pos += n
	return r.data[r.pos-n : r.pos]
}

// u32 reads an unsigned LEB128 number of at most 32 bits in at most 5 bytes.
func (r *reader) u32() uint32 {
	var x uint32
	for shift := 0; shift < 35; shift += 7 {
		c := r.byte()
		if shift == 28 && c > 0x0f {
			break
		}
		x |= uint32(c&0x7f) << shift
		if c < 0x80 {
			return x
		}
	}
	r.fail(ErrMalformed, "number longer than 32 bits")
	return 0
}

// signed reads a signed LEB128 number of at most bits bits.
func (r *reader) signed(bits int) int64 {
	var x int64
	for shift := 0; shift < bits; shift += 7 {
		c := r.byte()
		x |= int64(c&0x7f) << shift
		if c >= 0x80 {
			continue
		}
		if shift+7 < 64 && c&0x40 != 0 {
			x |= -1 << (shift + 7)
		}
		// Bits beyond the width must repeat the sign.
		if unused := shift + 7 - bits; unused > 0 {
			if top := int8(c<<1) >> (7 - unused); top != 0 && top != -1 {
				break
			}
		}
		return x
	}
	r.fail(ErrMalformed, "number longer than %d bits", bits)
	return 0
}

// count reads a vector's length. Each element has at least one byte, so more
// elements than bytes cannot be; this keeps allocations in proportion.
func (r *reader) count(limit int, what string) int {
	n := r.u32()
	if int64(n) > int64(r.left()) {
		r.fail(ErrMalformed, "%d %s in %d bytes", n, what, r.left())
		return 0
	}
	if int64(n) > int64(limit) {
		r.fail(ErrLimit, "%d %s, at most %d are allowed", n, what, limit)
		return 0
	}
	return int(n)
}

// index reads an index below n. Indices are checked against what the module
// itself defines: what Rewrite appends lies beyond and cannot be named.
func (r *reader) index(n int, what string) int {
	i := r.u32()
	if int64(i) >= int64(n) {
		r.fail(ErrMalformed, "%s index %d, the module has %d", what, i, n)
		return 0
	}
	return int(i)
}

// sub returns a reader over the next n bytes.
func (r *reader) sub(n int) *reader {
	base := r.base + r.pos
	data := r.bytes(n)
	return &reader{data: data, base: base, err: r.err}
}

// done reports the sticky error, or that bytes are left over.
func (r *reader) done() error {
	if r.err == nil && r.pos != len(r.data) {
		r.fail(ErrMalformed, "%d bytes left over", r.left())
	}
	return r.err
}

// appendU32 appends the shortest unsigned LEB128 form of x.
func appendU32(b []byte, x uint32) []byte {
	for x >= 0x80 {
		b = append(b, byte(x)|0x80)
		x >>= 7
	}
	return append(b, byte(x))
}

// appendSigned appends the shortest signed LEB128 form of x.
func appendSigned(b []byte, x int64) []byte {
	for {
		c := byte(x & 0x7f)
		x >>= 7
		if x == 0 && c&0x40 == 0 || x == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

// costBytes is the room left for a cost that is known only when its segment
// is complete. 34 signed bits hold any cost a function body can have.
const costBytes = 5

// putCost writes x, not negative, as signed LEB128 of exactly costBytes bytes.
func putCost(b []byte, x int64) {
	for i := range costBytes - 1 {
		b[i] = byte(x&0x7f) | 0x80
		x >>= 7
	}
	b[costBytes-1] = byte(x & 0x3f)
}

// appendName appends a length and the bytes of s.
func appendName(b []byte, s string) []byte {
	return append(appendU32(b, uint32(len(s))), s...)
}

// appendSection appends a section with its header.
func appendSection(b []byte, id byte, body []byte) []byte {
	b = appendU32(append(b, id), uint32(len(body)))
	return append(b, body...)
}

// op appends an opcode with one index.
func op(b []byte, opcode byte, index uint32) []byte {
	return appendU32(append(b, opcode), index)
}

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
