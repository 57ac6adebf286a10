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

func spread(spans []span) (t [256]immediate) {
	for _, s := range spans {
		for i := s.first; i <= s.last; i++ {
			t[i] = s.kind
		}
	}
	return t
}

// core is indexed by the opcode's only byte.
var core = spread([]span{
	{0x00, 0x00, trap}, {0x01, 0x01, plain}, {0x02, 0x04, blockType}, {0x05, 0x05, elseMark}, {0x0b, 0x0b, endMark},
	{0x0c, 0x0d, label}, {0x0e, 0x0e, labels}, {0x0f, 0x0f, leave}, {0x10, 0x10, call}, {0x11, 0x11, callIndirect},
	{0x1a, 0x1b, plain}, {0x1c, 0x1c, selectTypes}, {0x20, 0x22, localIndex}, {0x23, 0x24, globalIndex},
	{0x25, 0x25, tableIndex}, {0x26, 0x26, tableChange}, {0x28, 0x3e, memoryAccess}, {0x3f, 0x3f, memorySize},
	{0x40, 0x40, memoryGrow}, {0x41, 0x41, constI32}, {0x42, 0x42, constI64}, {0x43, 0x43, bytes4}, {0x44, 0x44, bytes8},
	{0x45, 0xc4, plain}, {0xd0, 0xd0, refType}, {0xd1, 0xd1, plain}, {0xd2, 0xd2, refFunc},
	{0xfc, 0xfc, prefixMisc}, {0xfd, 0xfd, prefixVector},
})

// misc is indexed by what follows the prefix 0xfc.
var misc = spread([]span{
	{0, 7, plain}, {8, 8, memoryInit}, {9, 9, dataDrop}, {10, 10, memoryCopy}, {11, 11, memoryFill},
	{12, 12, tableInit}, {13, 13, elemDrop}, {14, 14, tableCopy}, {15, 15, tableGrow}, {16, 16, tableIndex}, {17, 17, tableFill},
})

// vector is indexed by what follows the prefix 0xfd. Later spans win.
var vector = spread([]span{
	{0x0e, 0x14, plain}, {0x23, 0x53, plain}, {0x5e, 0xff, plain},
	{0x00, 0x0b, memoryAccess}, {0x0c, 0x0d, bytes16}, {0x15, 0x22, lane}, {0x54, 0x5b, memoryLane}, {0x5c, 0x5d, memoryAccess},
	{0x9a, 0x9a, unknown}, {0xa2, 0xa2, unknown}, {0xa5, 0xa6, unknown}, {0xaf, 0xb0, unknown}, {0xb2, 0xb4, unknown},
	{0xbb, 0xbb, unknown}, {0xc2, 0xc2, unknown}, {0xc5, 0xc6, unknown}, {0xcf, 0xd0, unknown}, {0xd2, 0xd4, unknown},
	{0xe2, 0xe2, unknown}, {0xee, 0xee, unknown},
})

// weight is what one instruction costs besides what it moves. Marks of
// structure are free. What leaves compiled code for the runtime costs an
// estimate on the safe side of what that takes, in plain instructions; the
// numbers are part of the ABI, since a fault must repeat on every machine.
func weight(kind immediate, opcode byte) int64 {
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

// traps reports whether an instruction checks its operands, which the compiler writes out as a
// branch.
func traps(kind immediate, opcode byte) bool {
	division := opcode >= 0x6d && opcode <= 0x70 || opcode >= 0x7f && opcode <= 0x82
	truncation := opcode >= 0xa8 && opcode <= 0xab || opcode >= 0xae && opcode <= 0xb1
	return kind == memoryAccess || kind == memoryLane || kind == plain && (division || truncation)
}

// growth returns the shift that turns the top operand of a bulk operation
// into fuel at bytes/16: an element of a table counts 8 bytes, a page 65,536.
func growth(kind immediate) (shift int, bulk bool) {
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

func valueType(t byte) bool { return t >= typeV128 && t <= typeI32 || referenceType(t) }

func referenceType(t byte) bool { return t == typeFuncref || t == typeExternref }
