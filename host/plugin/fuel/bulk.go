// SPDX-License-Identifier: MIT

package fuel

// A bulk operation on memory is one instruction that may take as long as
// millions of others: memory that was never touched is made as it is written.
// So what is larger than bulkBytes runs in pieces, in functions that are
// appended to the module, with a refill after each piece.
const bulkBytes = 1 << 17

// Opcodes that only this file writes.
const (
	opElse     = 0x05
	opMemory   = 0x3f // memory.size
	opI32Const = 0x41
	opI32GtU   = 0x4b
	opI64GtU   = 0x56
	opI32Add   = 0x6a
	opI32Sub   = 0x6b
	opMisc     = 0xfc
	miscCopy   = 10
	miscFill   = 11
	pageShift  = 16
)

// Parameters of the appended functions, which are those of memory.fill and
// memory.copy.
const (
	bulkTo   = 0
	bulkFrom = 1 // or the byte to fill with
	bulkLeft = 2
)

func (m *module) bulkType() uint32 {
	return uint32(len(m.types)) + m.extraType(signature{params: []byte{typeI32, typeI32, typeI32}})
}

// bulk hands a large fill or copy to a function that works in pieces. Its
// size is in sizeLocal; the operands are on the stack.
func (f *function) bulk(kind immediate, opcode byte, at int, function uint32) {
	f.operand(kind, opcode)
	if f.now == dead {
		return
	}
	f.flush(at)
	f.shape.blocks++
	b := op(f.body, opLocalGet, f.sizeLocal())
	b = append(appendSigned(append(b, opI32Const), bulkBytes), opI32GtU, opIf)
	b = f.store(appendSigned(b, int64(f.bulkType())))
	f.body = append(f.load(op(b, opCall, function)), opElse)
	f.flush(f.in.pos)
	f.body = append(f.body, opEnd)
}

// fillBody fills piece by piece.
func (m *module) fillBody() []byte {
	whole := []byte{opLocalGet, bulkTo, opLocalGet, bulkFrom, opLocalGet, bulkLeft, opMisc, miscFill, 0}
	piece := appendSigned([]byte{opLocalGet, bulkTo, opLocalGet, bulkFrom, opI32Const}, bulkBytes)
	piece = append(piece, opMisc, miscFill, 0)
	return m.pieces([]byte{bulkTo}, append(piece, advance(opI32Add, bulkTo)...), whole)
}

// copyBody copies piece by piece, from the end where the target lies after
// the source: what is still to be read is not written over.
func (m *module) copyBody() []byte {
	whole := []byte{opLocalGet, bulkTo, opLocalGet, bulkFrom, opLocalGet, bulkLeft, opMisc, miscCopy, 0, 0}
	size := appendSigned([]byte{opI32Const}, bulkBytes)
	last := func(local byte) []byte { // where the last piece begins
		return append(append([]byte{opLocalGet, local, opLocalGet, bulkLeft, opI32Add}, size...), opI32Sub)
	}
	b := []byte{opLocalGet, bulkTo, opLocalGet, bulkFrom, opI32GtU, opIf, emptyBlock}
	b = append(append(b, last(bulkTo)...), last(bulkFrom)...)
	b = append(append(b, size...), opMisc, miscCopy, 0, 0, opElse, opLocalGet, bulkTo, opLocalGet, bulkFrom)
	b = append(append(b, size...), opMisc, miscCopy, 0, 0)
	b = append(append(b, advance(opI32Add, bulkTo)...), advance(opI32Add, bulkFrom)...)
	return m.pieces([]byte{bulkTo, bulkFrom}, append(b, opEnd), whole)
}

// advance moves a parameter by a piece.
func advance(opcode byte, local byte) []byte {
	b := appendSigned([]byte{opLocalGet, local, opI32Const}, bulkBytes)
	return append(b, opcode, opLocalSet, local)
}

// pieces is the body of a function that runs a piece at a time while more
// than one is left, and then the rest. If an address is out of bounds it
// runs everything at once, which traps before a byte is written.
func (m *module) pieces(addresses, piece, rest []byte) []byte {
	b := []byte{0, opBlock, emptyBlock} // no locals
	for _, address := range addresses {
		b = append(b, opLocalGet, address, opI64ExtendU, opLocalGet, bulkLeft, opI64ExtendU, opI64Add,
			opMemory, 0, opI64ExtendU, opI64Const, pageShift, opI64Shl, opI64GtU, opBrIf, 0)
	}
	b = append(append(b, opLoop, emptyBlock), piece...)
	b = append(b, advance(opI32Sub, bulkLeft)...)
	b = op(op(op(b, opGlobalGet, m.fuelGlobal()), opCall, m.refill()), opGlobalSet, m.fuelGlobal())
	b = append(appendSigned(append(b, opLocalGet, bulkLeft, opI32Const), bulkBytes), opI32GtU, opBrIf, 0, opEnd, opEnd)
	b = append(append(b, rest...), opEnd)
	return append(appendU32(nil, uint32(len(b))), b...)
}
