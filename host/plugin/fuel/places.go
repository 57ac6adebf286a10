// SPDX-License-Identifier: MIT

package fuel

import (
	"encoding/binary"
	"slices"
	"sort"
)

// A module that was built for debugging has a section .debug_line, which the author's tools read.
// For such a module the rewriter records where it copied code from and to, and has wazero tell
// where in the rewritten code a trap was.

// Moves are the pieces of code that were copied, in the order of the code.
type Moves []move

// move says that the code at from in the original code section is at to in the rewritten one. Code
// up to the next move has moved as far.
type move struct{ from, to uint32 }

// mostMoves bounds the memory of a module's moves. A larger module has none.
const mostMoves = 1 << 19

// Original returns the offset in the original code section of the code at an offset in the
// rewritten one. Code that the rewriter inserted counts as the code before it.
func (m Moves) Original(offset uint32) (uint32, bool) {
	next := sort.Search(len(m), func(i int) bool { return m[i].to > offset })
	if next == 0 {
		return 0, false
	}
	at := m[next-1].from + (offset - m[next-1].to)
	if next < len(m) {
		at = max(m[next-1].from, min(at, m[next].from-1))
	}
	return at, true
}

// noteMove records that the original is copied from f.copied on.
func (f *function) noteMove() {
	if f.lined {
		f.copies = append(f.copies, move{from: uint32(f.copied), to: uint32(len(f.body))})
	}
}

// noteMoves adds a function's moves to the module's. Its body begins at start in the rewritten
// code, and its instructions at code.
func (f *function) noteMoves(start, code int) {
	if f.lined = f.lined && len(f.moves)+len(f.copies) < mostMoves; !f.lined {
		f.moves = nil
		return
	}
	from := uint32(f.in.base - f.codeBase)
	f.moves = append(f.moves, move{from, uint32(start)})
	for _, c := range f.copies {
		f.moves = append(f.moves, move{from: from + c.from, to: uint32(code) + c.to})
	}
}

// anyPlace is DWARF 4 by which all code is from line 1 of a file "?". It makes wazero tell the
// offset of each call in a trap's stack trace.
var anyPlace = func() (sections []byte) {
	const end = 1 << 30
	u32 := binary.LittleEndian.AppendUint32
	sized := func(body []byte) []byte { return append(u32(nil, uint32(len(body))), body...) }
	abbreviations := []byte{1, 0x11, 0, 0x10, 0x17, 0x11, 0x01, 0x12, 0x06, 0, 0, 0} // a unit: line program, first address, bytes of code
	unit := []byte{4, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0}                               // version, abbreviations, bytes of an address, the unit
	unit = u32(u32(unit, 1), end)                                                    // from 1: 0 would mean that the linker left it out
	header := slices.Concat([]byte{1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0}, []byte("?\x00\x00\x00\x00\x00"))
	const setAddress, endSequence, addRow = 2, 1, 1
	program := slices.Concat([]byte{0, 5, setAddress, 0, 0, 0, 0, addRow, 0, 5, setAddress}, u32(nil, end), []byte{0, 1, endSequence})
	lines := slices.Concat([]byte{4, 0}, sized(header), program)
	for _, s := range []struct {
		name string
		body []byte
	}{{".debug_abbrev", abbreviations}, {".debug_info", sized(unit)}, {".debug_line", sized(lines)}} {
		sections = appendSection(sections, secCustom, append(appendName(nil, s.name), s.body...))
	}
	return sections
}()
