// SPDX-License-Identifier: MIT

package fuel

// instructions walks over the body. It is a loop with its own stack of
// frames, so nesting costs no host stack.
func (f *function) instructions() {
	for len(f.frames) > 0 && f.in.err == nil {
		if f.shape.alone(f.locals) > f.limits.FunctionWork { // looked at often, so that reading it takes no longer either
			f.in.fail(ErrLimit, functionIsMuch)
			return
		}
		at := f.in.pos
		opcode := f.in.byte()
		kind, rise := core[opcode], coreRise[opcode]
		switch kind {
		case prefixMisc:
			kind, rise = f.prefixed(&misc, &miscRise)
		case prefixVector:
			kind, rise = f.prefixed(&vector, &vectorRise)
		}
		f.meter(kind, opcode, at)
		f.instruction(kind, opcode, at)
		f.height += int(rise)
	}
	if f.in.err == nil {
		f.flush(f.in.pos)
		_ = f.in.done() // the reader keeps its first error
	}
}

// prefixed reads the rest of a two-part opcode. wazero reads one byte for a
// vector opcode and takes the second byte of 0x80–0xff, which is 1, for a nop;
// only the shortest form means the same to both.
func (f *function) prefixed(table *[256]immediate, rises *[256]int8) (immediate, int8) {
	from := f.in.pos
	sub := f.in.u32()
	length := 1
	if sub >= 0x80 {
		length = 2
	}
	if sub > 0xff || f.in.pos-from != length {
		f.in.fail(ErrUnsupported, "opcode %#x", sub)
		return plain, 0
	}
	return table[sub], rises[sub]
}

// meter pays for the instruction that begins at at, with a new charge before
// it if one is due.
func (f *function) meter(kind immediate, opcode byte, at int) {
	cost := weight(kind, opcode)
	f.split(cost)
	if shift, bulk := growth(kind); bulk && f.now != dead {
		f.flush(at)
		f.chargeBulk(shift)
	} else if cost > 0 && f.now == pending {
		f.flush(at)
		f.charge(at-f.checked > checkEvery)
	}
	f.pay(cost)
	if traps(kind, opcode) {
		f.shape.traps++
	}
}

// instruction reads the immediates and rewrites what needs rewriting.
func (f *function) instruction(kind immediate, opcode byte, at int) {
	switch kind {
	case plain:
	case trap:
		f.now = dead
	case blockType:
		f.block(opcode, at)
	case elseMark:
		if !f.turn() {
			f.in.fail(ErrMalformed, "else without if")
		}
		top := f.frames[len(f.frames)-1]
		f.height = top.base + top.params
	case endMark:
		f.end()
	case label, labels, leave:
		f.jump(kind, opcode, at)
	case call, callIndirect:
		f.call(kind, at)
	case localIndex:
		i := f.in.index(f.locals, "local")
		if f.in.err == nil && f.now != dead {
			f.local(i, opcode != opLocalGet)
		}
		if opcode != opLocalGet {
			f.shape.sets++
			f.shape.depths += len(f.frames)
		}
	case globalIndex:
		f.in.index(f.globals, "global")
	case refFunc:
		i := f.in.index(len(f.functions), "function")
		f.flush(at)
		f.body, f.copied = op(f.body, opcode, f.moved(i)), f.in.pos
	case memoryFill:
		f.bulk(kind, opcode, at, f.filler())
	case memoryCopy:
		f.bulk(kind, opcode, at, f.copier())
	default:
		f.operand(kind, opcode)
	}
}

// end closes a frame, and the loop around a loop.
func (f *function) end() {
	before, top := f.refills(), f.frames[len(f.frames)-1]
	if f.close(); f.refills() < before {
		f.flush(f.in.pos)
		f.body = append(f.body, opEnd)
	}
	f.height = top.base + top.results
	if top.opcode == opLoop {
		f.leaveLoop()
	}
	f.branch(1)
}

// block opens a frame; a loop charges at its header.
func (f *function) block(opcode byte, at int) {
	params, results := f.blockType()
	f.shape.arity += params + results
	if opcode == opIf {
		f.height--
	}
	f.startBlock()
	refills := f.refills()
	if opcode == opLoop && f.now != dead {
		refills++
	}
	f.open(frame{opcode: opcode, entry: f.now, join: nowhere, checked: f.checked, refills: refills, params: params, results: results,
		base: f.height - params, number: f.numbers})
	f.numbers++
	if opcode == opLoop {
		f.loops = append(f.loops, loopUse{order: f.order})
	}
	if len(f.frames) > f.limits.Nesting {
		f.in.fail(ErrLimit, "blocks more than %d deep", f.limits.Nesting)
	}
	if opcode == opLoop && f.now != dead {
		f.loop(at)
		f.pay(1)
	}
}

// blockType reads a block's type and returns its arity.
func (f *function) blockType() (params, results int) {
	switch c := f.in.byte(); {
	case c == emptyBlock:
		return 0, 0
	case valueType(c):
		return 0, 1
	case c&0xc0 == 0x40:
		f.in.fail(ErrUnsupported, "block type %#x", c)
		return 0, 0
	}
	f.in.pos--
	i := f.in.signed(33)
	if f.in.err == nil && (i < 0 || i >= int64(len(f.types))) {
		f.in.fail(ErrMalformed, "block type %d, the module has %d", i, len(f.types))
	}
	if f.in.err != nil {
		return 0, 0
	}
	return len(f.types[i].params), len(f.types[i].results)
}

// jump handles br, br_if, br_table and return.
func (f *function) jump(kind immediate, opcode byte, at int) {
	f.flush(at)
	switch kind {
	case leave:
		f.body = op(f.body, opBr, uint32(len(f.frames)-1+f.refills()))
		f.shape.arity += f.frames[0].results
	case label:
		if opcode == opBrIf {
			f.height--
		}
		f.startBlock()
		f.body = append(f.body, opcode)
		f.target()
	case labels:
		n := f.in.count(f.limits.BodyBytes, "labels")
		f.body = op(f.body, opcode, uint32(n))
		f.shape.targets += n
		f.height--
		f.branch(n + 1)
		for range n {
			if f.target(); f.in.err != nil {
				return
			}
		}
		f.target()
	}
	f.copied = f.in.pos
	if opcode != opBrIf {
		f.now = dead
	}
}

// target reads a label, notes the edge to it and writes it, with the loops
// that were put between.
func (f *function) target() {
	i := f.in.index(len(f.frames), "label")
	if f.in.err != nil {
		return
	}
	to := f.frames[len(f.frames)-1-i]
	f.body = appendU32(f.body, uint32(i+f.refills()-to.refills))
	if f.edge(i); to.opcode == opLoop {
		f.shape.arity += to.params
	} else {
		f.shape.arity += to.results
	}
}

// wideCall is how many values a call may have before they count.
const wideCall = 16

// call stores the counter for the callee and reads it again after.
func (f *function) call(kind immediate, at int) {
	function, callee := -1, signature{}
	if kind == call {
		if function = f.in.index(len(f.functions), "function"); f.in.err == nil {
			callee = f.types[f.functions[function]]
		}
	} else {
		if i := f.in.index(len(f.types), "type"); f.in.err == nil {
			callee = f.types[i]
		}
		f.in.index(f.tables, "table")
	}
	if n := len(callee.params) + len(callee.results); n > wideCall {
		f.shape.arity += n
	}
	if kind == callIndirect {
		f.height--
	}
	f.height += len(callee.results) - len(callee.params)
	f.calls = true
	f.flush(at)
	if f.now != dead {
		f.body = f.store(f.body)
	}
	if function >= 0 {
		f.body, f.copied = op(f.body, opCall, f.moved(function)), f.in.pos
	} else {
		f.flush(f.in.pos)
	}
	if f.now != dead {
		f.body = f.load(f.body)
		f.cut()
	}
}
