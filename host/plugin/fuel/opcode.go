// SPDX-License-Identifier: MIT

package fuel

// immediate says what follows an opcode.
type immediate byte

const (
	unknown immediate = iota // not an opcode of WebAssembly 2.0
	plain                    // nothing follows
	blockType
	elseMark
	endMark
	label
	labels // br_table
	leave  // return
	trap   // unreachable
	call
	callIndirect
	refFunc
	selectTypes
	localIndex
	globalIndex
	tableIndex  // table.get, table.size
	tableChange // table.set
	memoryAccess
	memorySize
	memoryGrow
	refType
	constI32
	constI64
	bytes4
	bytes8
	bytes16
	lane
	memoryLane
	prefixMisc
	prefixVector
	memoryInit
	dataDrop
	memoryCopy
	memoryFill
	tableInit
	elemDrop
	tableCopy
	tableGrow
	tableFill
)

// Opcodes that the rewriter writes or looks for by name.
const (
	opUnreachable = 0x00
	opBlock       = 0x02
	opLoop        = 0x03
	opIf          = 0x04
	opEnd         = 0x0b
	opBr          = 0x0c
	opBrIf        = 0x0d
	opReturn      = 0x0f
	opCall        = 0x10
	opLocalGet    = 0x20
	opLocalSet    = 0x21
	opLocalTee    = 0x22
	opGlobalGet   = 0x23
	opGlobalSet   = 0x24
	opI64Const    = 0x42
	opI64LtS      = 0x53
	opI64GeS      = 0x59
	opI64Add      = 0x7c
	opI64Sub      = 0x7d
	opI64Or       = 0x84
	opI64Shl      = 0x86
	opI64ShrU     = 0x88
	opI64ExtendU  = 0xad
	typeI32       = 0x7f
	typeI64       = 0x7e
	typeV128      = 0x7b
	typeFuncref   = 0x70
	typeExternref = 0x6f
	emptyBlock    = 0x40
)

// span sets the kind of the opcodes from first to last.
type span struct {
	first, last int
	kind        immediate
}

func kindTable(spans []span) (t [256]immediate) {
	for _, s := range spans {
		for i := s.first; i <= s.last; i++ {
			t[i] = s.kind
		}
	}
	return t
}

// core is indexed by the opcode's only byte.
var core = kindTable([]span{
	{0x00, 0x00, trap}, {0x01, 0x01, plain}, {0x02, 0x04, blockType}, {0x05, 0x05, elseMark}, {0x0b, 0x0b, endMark},
	{0x0c, 0x0d, label}, {0x0e, 0x0e, labels}, {0x0f, 0x0f, leave}, {0x10, 0x10, call}, {0x11, 0x11, callIndirect},
	{0x1a, 0x1b, plain}, {0x1c, 0x1c, selectTypes}, {0x20, 0x22, localIndex}, {0x23, 0x24, globalIndex},
	{0x25, 0x25, tableIndex}, {0x26, 0x26, tableChange}, {0x28, 0x3e, memoryAccess}, {0x3f, 0x3f, memorySize},
	{0x40, 0x40, memoryGrow}, {0x41, 0x41, constI32}, {0x42, 0x42, constI64}, {0x43, 0x43, bytes4}, {0x44, 0x44, bytes8},
	{0x45, 0xc4, plain}, {0xd0, 0xd0, refType}, {0xd1, 0xd1, plain}, {0xd2, 0xd2, refFunc},
	{0xfc, 0xfc, prefixMisc}, {0xfd, 0xfd, prefixVector},
})

// misc is indexed by what follows the prefix 0xfc.
var misc = kindTable([]span{
	{0, 7, plain}, {8, 8, memoryInit}, {9, 9, dataDrop}, {10, 10, memoryCopy}, {11, 11, memoryFill},
	{12, 12, tableInit}, {13, 13, elemDrop}, {14, 14, tableCopy}, {15, 15, tableGrow}, {16, 16, tableIndex}, {17, 17, tableFill},
})

// vector is indexed by what follows the prefix 0xfd. Later spans win.
var vector = kindTable([]span{
	{0x0e, 0x14, plain}, {0x23, 0x53, plain}, {0x5e, 0xff, plain},
	{0x00, 0x0b, memoryAccess}, {0x0c, 0x0d, bytes16}, {0x15, 0x22, lane}, {0x54, 0x5b, memoryLane}, {0x5c, 0x5d, memoryAccess},
	{0x9a, 0x9a, unknown}, {0xa2, 0xa2, unknown}, {0xa5, 0xa6, unknown}, {0xaf, 0xb0, unknown}, {0xb2, 0xb4, unknown},
	{0xbb, 0xbb, unknown}, {0xc2, 0xc2, unknown}, {0xc5, 0xc6, unknown}, {0xcf, 0xd0, unknown}, {0xd2, 0xd4, unknown},
	{0xe2, 0xe2, unknown}, {0xee, 0xee, unknown},
})

// costOf returns what one instruction costs in addition to the bytes it moves.
// Marks of structure are free. An instruction that leaves compiled code for the
// runtime costs a safe estimate of that, in plain instructions. The numbers are
// part of the ABI, since a fault must repeat on every machine.
func costOf(kind immediate, opcode byte) int64 {
	switch kind {
	case elseMark, endMark:
		return 0
	case blockType: // a loop charges at its header, each time
		if opcode == opIf {
			return 1
		}
		return 0
	case refFunc:
		return 64
	case memoryGrow, tableGrow:
		return 256
	case memoryInit, memoryCopy, memoryFill, tableInit, tableCopy, tableFill:
		return 16
	default:
		return 1
	}
}

// canTrap reports whether an instruction checks its operands, which the compiler writes out as a
// branch.
func canTrap(kind immediate, opcode byte) bool {
	division := opcode >= 0x6d && opcode <= 0x70 || opcode >= 0x7f && opcode <= 0x82
	truncation := opcode >= 0xa8 && opcode <= 0xab || opcode >= 0xae && opcode <= 0xb1
	return kind == memoryAccess || kind == memoryLane || kind == plain && (division || truncation)
}

// bulkShift returns the shift that turns the top operand of a bulk operation
// into fuel at bytes/16: an element of a table counts 8 bytes, a page 65,536.
func bulkShift(kind immediate) (shift int, bulk bool) {
	switch kind {
	case memoryInit, memoryCopy, memoryFill:
		return -4, true
	case tableInit, tableCopy, tableFill, tableGrow:
		return -1, true
	case memoryGrow:
		return 12, true
	default:
		return 0, false
	}
}

func isValueType(t byte) bool { return t >= typeV128 && t <= typeI32 || isReferenceType(t) }

func isReferenceType(t byte) bool { return t == typeFuncref || t == typeExternref }

// rise says by how many values a range of opcodes changes the height of the
// operand stack.
type rise struct{ first, last, by int }

func riseTable(list []rise) (t [256]int8) {
	for _, r := range list {
		for i := r.first; i <= r.last; i++ {
			t[i] = int8(r.by)
		}
	}
	return t
}

// Opcodes that leave the height unchanged are not listed. The effect of calls,
// blocks and branches depends on more than the opcode.
var (
	coreRise = riseTable([]rise{
		{0x1a, 0x1a, -1}, {0x1b, 0x1c, -2}, {0x20, 0x20, 1}, {0x21, 0x21, -1}, {0x23, 0x23, 1}, {0x24, 0x24, -1}, {0x26, 0x26, -2},
		{0x36, 0x3e, -2}, {0x3f, 0x3f, 1}, {0x41, 0x44, 1}, {0x46, 0x4f, -1}, {0x51, 0x66, -1}, {0x6a, 0x78, -1}, {0x7c, 0x8a, -1},
		{0x92, 0x98, -1}, {0xa0, 0xa6, -1}, {0xd0, 0xd0, 1}, {0xd2, 0xd2, 1},
	})
	miscRise = riseTable([]rise{
		{8, 8, -3}, {10, 12, -3}, {14, 14, -3}, {15, 15, -1}, {16, 16, 1}, {17, 17, -3},
	})
	vectorRise = riseTable([]rise{
		{0x0b, 0x0b, -2}, {0x0c, 0x0c, 1}, {0x0d, 0x0e, -1}, {0x17, 0x17, -1}, {0x1a, 0x1a, -1}, {0x1c, 0x1c, -1}, {0x1e, 0x1e, -1},
		{0x20, 0x20, -1}, {0x22, 0x22, -1}, {0x23, 0x4c, -1}, {0x4e, 0x51, -1}, {0x52, 0x52, -2}, {0x54, 0x57, -1}, {0x58, 0x5b, -2},
		{0x65, 0x66, -1}, {0x6b, 0x73, -1}, {0x76, 0x79, -1}, {0x7b, 0x7b, -1}, {0x82, 0x82, -1}, {0x85, 0x86, -1}, {0x8b, 0x93, -1},
		{0x95, 0x99, -1}, {0x9b, 0x9f, -1}, {0xab, 0xae, -1}, {0xb1, 0xb1, -1}, {0xb5, 0xba, -1}, {0xbc, 0xbf, -1}, {0xcb, 0xce, -1},
		{0xd1, 0xd1, -1}, {0xd5, 0xdf, -1}, {0xe4, 0xeb, -1}, {0xf0, 0xf7, -1},
	})
)

// readOperand reads the immediates of instructions that are copied unchanged.
func (f *function) readOperand(kind immediate, opcode byte) {
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
		if t := f.in.byte(); !isReferenceType(t) {
			f.in.fail(ErrUnsupported, "reference type %#x", t)
		}
	case selectTypes:
		if n, t := f.in.byte(), f.in.byte(); n != 1 || !isValueType(t) {
			f.in.fail(ErrUnsupported, "select of %d types", n)
		}
	case unknown:
		f.in.fail(ErrUnsupported, "opcode %#x", opcode)
	default:
		f.readAccess(kind)
	}
}

// readAccess reads the immediates of instructions on memory, tables and segments.
func (f *function) readAccess(kind immediate) {
	switch kind {
	case memoryAccess, memoryLane:
		f.checkMemory(f.in.u32() <= 4) // an exponent; higher bits mean other proposals
		f.in.u32()
		if kind == memoryLane {
			f.in.byte()
		}
	case memorySize, memoryGrow, memoryFill:
		f.checkMemory(f.in.byte() == 0)
	case memoryCopy:
		to, from := f.in.byte(), f.in.byte()
		f.checkMemory(to == 0 && from == 0)
	case memoryInit:
		f.in.index(f.datas, "data segment")
		f.checkMemory(f.in.byte() == 0)
	case dataDrop:
		f.in.index(f.datas, "data segment")
	case elemDrop:
		f.in.index(f.elements, "element segment")
	case tableIndex:
		f.in.index(f.tables, "table")
	case tableInit:
		f.in.index(f.elements, "element segment")
		f.readChangedTable()
	case tableCopy:
		f.in.index(f.tables, "table")
		f.readChangedTable()
	case tableChange, tableGrow, tableFill:
		f.readChangedTable()
	}
}

// checkMemory checks that the module has a memory and that its immediate is the
// only one that 2.0 allows.
func (f *function) checkMemory(plain bool) {
	if f.memories == 0 {
		f.in.fail(ErrMalformed, "no memory")
	}
	if !plain {
		f.in.fail(ErrUnsupported, "immediate of a memory instruction")
	}
}

// readChangedTable reads the index of a table that the instruction changes.
func (f *function) readChangedTable() {
	f.in.index(f.tables, "table")
	f.immovable = "its code changes a table"
}
