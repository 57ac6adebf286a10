// SPDX-License-Identifier: MIT

package fuel

import (
	"cmp"
	"slices"
	"sort"
	"strings"
)

// A module that was built for debugging says in its section .debug_line which line of the source
// each instruction is from. Rewriting moves the instructions, so a table is made again for where
// they are then, and traps show the lines. It has no part in what a module computes; what is
// damaged or too much of it is left out.

// row says that the code from an address on is from a line. Addresses are offsets in the code
// section.
type row struct {
	address uint32
	file    int // index in lineTable.files, or noFile
	line    uint32
	near    bool // the code is the toolchain's, inlined; the line is the last one before it that is not
}

// noFile is the file of code of which no line is known.
const noFile = -1

// lineTable is what is known of a module's lines.
type lineTable struct {
	files []string
	rows  []row
}

// move says that what is at from in the original code is at to in the rewritten; what follows has
// moved as far, up to the next move.
type move struct {
	from, to uint32
	start    bool // of a function
}

// moves are those of all functions, by from.
type moves []move

// body is where a function's body begins and ends in the original code.
type body struct{ from, to uint32 }

// noteMove notes that the original is copied from f.copied on.
func (f *function) noteMove() {
	if f.lined {
		f.copies = append(f.copies, move{from: uint32(f.copied), to: uint32(len(f.body))})
	}
}

// noteMoves adds a function's moves to the module's. Its body begins at start in the rewritten
// code, and its instructions at code.
func (f *function) noteMoves(start, code int) {
	if !f.lined {
		return
	}
	from := uint32(f.in.base - f.codeBase)
	f.bodies = append(f.bodies, body{from, from + uint32(len(f.in.data))})
	f.moves = append(f.moves, move{from, uint32(start), true})
	for _, c := range f.copies {
		f.moves = append(f.moves, move{from: from + c.from, to: uint32(code) + c.to})
	}
}

// of returns where an instruction went; what was put before it counts as the instruction's.
func (m moves) of(address uint32) uint32 {
	i := sort.Search(len(m), func(i int) bool { return m[i].from >= address })
	if i < len(m) && m[i].from == address && m[i].start {
		return m[i].to
	}
	if i == 0 {
		return 0
	}
	return m[i-1].to + (address - m[i-1].from)
}

// lineSections returns the custom sections with the rewritten module's lines; nil if there are
// none.
func (m *module) lineSections(r *reader) []byte {
	if r == nil || len(m.moves) == 0 {
		return nil
	}
	t := readLines(r.data[r.pos:], m.bodies)
	for i := range t.rows {
		t.rows[i].address = m.moves.of(t.rows[i].address)
	}
	slices.SortStableFunc(t.rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.address, b.address), cmp.Compare(min(a.file, 0), min(b.file, 0))) // an end before a beginning
	})
	rows := t.rows[:0]
	for _, next := range t.rows {
		if n := len(rows); n > 0 && rows[n-1].address == next.address {
			rows[n-1] = next // the last one holds
		} else if n == 0 || rows[n-1].file != next.file || rows[n-1].line != next.line || rows[n-1].near != next.near {
			rows = append(rows, next)
		}
	}
	if t.rows = rows; len(rows) == 0 {
		return nil
	}
	return t.sections()
}

// toolchains are parts of the paths of sources that come with a toolchain or with Penstock's SDK.
var toolchains = []string{
	"/rustc/", "/rustlib/", "library/core/src/", "library/std/src/", "library/alloc/src/", "library/panic_abort/", "library/panic_unwind/", // Rust
	"/tinygo/src/", "/goroot-", "/usr/local/go/src/", "/usr/lib/go", "libc-top-half/", "libc-bottom-half/", // TinyGo, Go, C
	"/sdk/go/", "/sdk/rust/", // Penstock
}

// FromToolchain reports whether a source file is not the author's own.
func FromToolchain(path string) bool {
	return slices.ContainsFunc(toolchains, func(part string) bool { return strings.Contains(path, part) })
}
