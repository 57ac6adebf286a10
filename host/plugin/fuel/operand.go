// SPDX-License-Identifier: MIT

package fuel

// operand reads the immediates of instructions that are kept as they are.
func (f *function) operand(kind immediate, opcode byte) {
	switch kind {
	case constI32:
		f.in.signed(32)
	case constI64:
		f.in.signed(64)
	case bytes4:
		f.in.bytes(4)
	case bytes8:
		f.in.bytes(8)
	case bytes16:
		f.in.bytes(16)
	case lane:
		f.in.byte()
	case refType:
		if t := f.in.byte(); !referenceType(t) {
			f.in.fail(ErrUnsupported, "reference type %#x", t)
		}
	case selectTypes:
		if n, t := f.in.byte(), f.in.byte(); n != 1 || !valueType(t) {
			f.in.fail(ErrUnsupported, "select of %d types", n)
		}
	case unknown:
		f.in.fail(ErrUnsupported, "opcode %#x", opcode)
	default:
		f.access(kind)
	}
}

// access reads the immediates of what works on memory, tables and segments.
func (f *function) access(kind immediate) {
	switch kind {
	case memoryAccess, memoryLane:
		f.memory(f.in.u32() <= 4) // an exponent; higher bits mean other proposals
		f.in.u32()
		if kind == memoryLane {
			f.in.byte()
		}
	case memorySize, memoryGrow, memoryFill:
		f.memory(f.in.byte() == 0)
	case memoryCopy:
		to, from := f.in.byte(), f.in.byte()
		f.memory(to == 0 && from == 0)
	case memoryInit:
		f.in.index(f.datas, "data segment")
		f.memory(f.in.byte() == 0)
	case dataDrop:
		f.in.index(f.datas, "data segment")
	case elemDrop:
		f.in.index(f.elements, "element segment")
	case tableIndex:
		f.in.index(f.tables, "table")
	case tableInit:
		f.in.index(f.elements, "element segment")
		f.changed()
	case tableCopy:
		f.in.index(f.tables, "table")
		f.changed()
	case tableChange, tableGrow, tableFill:
		f.changed()
	}
}

// memory checks that the module has a memory and that its immediate is the
// only one that 2.0 allows.
func (f *function) memory(plain bool) {
	if f.memories == 0 {
		f.in.fail(ErrMalformed, "no memory")
	}
	if !plain {
		f.in.fail(ErrUnsupported, "immediate of a memory instruction")
	}
}

// changed reads the index of a table that the instruction changes.
func (f *function) changed() {
	f.in.index(f.tables, "table")
	f.immovable = "its code changes a table"
}
