// SPDX-License-Identifier: MIT

package fuel

import (
	"slices"
	"testing"

	"github.com/tetratelabs/wazero"
)

// operand is code that pushes a value of each type.
var operand = [][]byte{i32c(0), i64c(0), {0x43, 0, 0, 0, 0}, append([]byte{0x44}, make([]byte, 8)...), append([]byte{0xfd, 12}, make([]byte, 16)...),
	{0xd0, typeFuncref}}

// operands are ways to push so many values; of three all or the first two have one type.
func operands(n int) (all [][]byte) {
	switch n {
	case 0:
		return [][]byte{nil}
	case 3:
		for _, a := range operand {
			for _, b := range operand {
				for _, c := range operand[:2] {
					all = append(all, slices.Concat(a, b, c), slices.Concat(a, b, b))
				}
			}
		}
		return all
	}
	for _, a := range operands(n - 1) {
		for _, b := range operand {
			all = append(all, slices.Concat(a, b))
		}
	}
	return all
}

// after are immediates of an instruction of a kind, which a module with a memory, a table, a
// global, a local and a segment has.
func after(kind immediate) []byte {
	switch kind {
	case localIndex, globalIndex, tableIndex, tableChange, memorySize, memoryGrow, refFunc, tableGrow, tableFill, lane, constI32, constI64, dataDrop, elemDrop:
		return []byte{0}
	case memoryCopy, memoryInit, memoryAccess, tableInit, tableCopy:
		return []byte{0, 0}
	case memoryLane:
		return []byte{0, 0, 0}
	case memoryFill:
		return []byte{0}
	case refType:
		return []byte{typeFuncref}
	case selectTypes:
		return []byte{1, typeI32}
	case bytes4, bytes8, bytes16:
		return make([]byte, map[immediate]int{bytes4: 4, bytes8: 8, bytes16: 16}[kind])
	}
	return nil
}

// raised reports by how much wazero lets an instruction raise the stack; false where it takes none
// of the operands.
func raised(r wazero.Runtime, code []byte) (by int, ok bool) {
	for n := range 4 {
		for _, push := range operands(n) {
			for results := range 2 {
				f := fn{locals: locals(1, "i32"), code: slices.Concat(push, code, repeat(results, []byte{0x1a}))}
				wasm := guest{memory: []byte{0, 1}, table: []byte{typeFuncref, 0, 1}, globals: 1, data: "x", elems: []byte{0}, funcs: []fn{f}}.wasm()
				if compiles(r, wasm) == nil {
					return results - n, true
				}
			}
		}
	}
	return 0, false
}

// What an instruction does to the height of the stack is what wazero's validation says.
func TestRises_AsWazeroValidates(t *testing.T) {
	r, checked := judge(t), 0
	try := func(name string, kind immediate, by int8, code ...byte) {
		switch kind {
		case unknown, blockType, elseMark, endMark, label, labels, leave, trap, call, callIndirect, prefixMisc, prefixVector, elemDrop, tableInit:
			return // read by name, or of a segment that a test's module does not have
		}
		got, ok := raised(r, append(code, after(kind)...))
		if !ok {
			t.Errorf("%s %#x: no operands fit", name, code)
			return
		}
		if checked++; got != int(by) {
			t.Errorf("%s %#x raises the stack by %d, and the table says %d", name, code, got, by)
		}
	}
	for i := range 256 {
		try("core", core[i], coreRise[i], byte(i))
		try("misc", misc[i], miscRise[i], 0xfc, byte(i))
		code := []byte{0xfd, byte(i)}
		if i >= 0x80 {
			code = append(code, 1)
		}
		try("vector", vector[i], vectorRise[i], code...)
	}
	if checked < 400 {
		t.Errorf("%d instructions were checked", checked)
	}
}
