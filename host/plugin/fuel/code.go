// SPDX-License-Identifier: MIT

package fuel

import "fmt"

// rewriteCode rewrites all function bodies.
func (m *module) rewriteCode(r *reader) []byte {
	defined := m.functions[m.imported:]
	m.codeBase = r.base
	n := r.count(m.limits.Functions, "function bodies")
	if r.err == nil && n != len(defined) {
		r.fail(ErrMalformed, "%d bodies for %d functions", n, len(defined))
	}
	out := make([]byte, 0, 2*r.left())
	out = appendU32(out, uint32(n+2*m.memories))
	f, work, locals := &function{module: m}, int64(0), 0
	for i := range n {
		size := r.u32()
		if int64(size) > int64(m.limits.BodyBytes) {
			r.fail(ErrLimit, "function %d has %d bytes, at most %d are allowed", m.imported+i, size, m.limits.BodyBytes)
		}
		body := r.sub(int(size))
		if r.err != nil {
			return nil
		}
		f.self = m.movedIndex(m.imported + i)
		out = f.rewrite(out, m.types[defined[i]], body)
		if locals += f.locals; locals > m.limits.AllLocals {
			body.fail(ErrLimit, "more than %d locals in all functions", m.limits.AllLocals)
		}
		work += f.shape.work(f.locals) + functionWork + int64(m.globals)
		switch {
		case f.shape.alone(f.locals) > m.limits.FunctionWork:
			body.fail(ErrLimit, functionIsMuch)
		case work > m.limits.Work:
			body.fail(ErrLimit, moduleIsMuch)
		}
		if body.err != nil {
			r.err = fmt.Errorf("function %d%s: %w", m.imported+i, m.describeName(m.imported+i), body.err)
			return nil
		}
	}
	if m.memories > 0 {
		out = append(append(out, m.fillBody()...), m.copyBody()...)
	}
	return out
}

// function rewrites one body after another, reusing its buffers.
type function struct {
	*module
	ledger
	self    uint32 // its index in the rewritten module
	in      *reader
	body    []byte // the rewritten instructions
	copied  int    // in.data up to here is in body
	copies  []move // within in.data and body
	locals  int    // parameters and declared locals
	frame   int64  // estimate of the frame's bytes
	calls   bool
	shape   shape
	height  int   // values on the operand stack
	numbers int   // frames so far
	uses    []use // of each local
	order   int   // uses of locals so far
	loops   []loopUse
	groups  []byte // declared locals
	nGroups int
}

// rewrite appends the metered body of a function of type s to out:
//
//	take the frame, entry charge
//	block $body (result …)
//	  original body with charges; return → br $body
//	end
//	give back the frame, store the counter
func (f *function) rewrite(out []byte, s signature, in *reader) []byte {
	f.ledger = ledger{costs: f.costs[:0], places: f.places[:0], frames: f.frames[:0]}
	f.checked, f.copies = in.pos, f.copies[:0]
	f.in, f.body, f.calls, f.shape = in, f.body[:0], false, shape{}
	f.height, f.numbers, f.order, f.loops = 0, 0, 0, f.loops[:0]
	f.readLocals(s)
	f.uses = append(f.uses[:0], make([]use, f.locals)...)
	f.copied = in.pos
	f.beginSegment()
	f.pay(1) // the call itself
	f.openFrame(frame{opcode: opBlock, join: nowhere, results: len(s.results)})
	f.rewriteInstructions()
	if in.err != nil {
		return out
	}
	for _, p := range f.places {
		putCost(f.body[p.at:], f.costs[p.segment])
	}
	return f.assemble(out, f.prologue(s), f.epilogue())
}

// readLocals reads the local declarations and estimates the frame: 8 bytes for
// each parameter, result and local (16 for a vector), 2 for each byte of code
// and 128 for the rest. wazero gives every spilled value a place of its own,
// so frames grow with the length of the code and not with live values only.
func (f *function) readLocals(s signature) {
	bytes := int64(0)
	for _, list := range [][]byte{s.params, s.results} {
		for _, t := range list {
			bytes += slotBytes(t)
		}
	}
	from, total := 0, int64(len(s.params))
	f.nGroups = f.in.count(f.limits.BodyBytes, "groups of locals")
	from = f.in.pos
	for range f.nGroups {
		n, t := f.in.u32(), f.in.byte()
		if !isValueType(t) {
			f.in.fail(ErrUnsupported, "local of type %#x", t)
		}
		if total += int64(n); total > int64(f.limits.Locals) {
			f.in.fail(ErrLimit, "more than %d locals", f.limits.Locals)
		}
		if f.in.err != nil {
			return
		}
		bytes += int64(n) * slotBytes(t)
	}
	f.groups, f.locals = f.in.data[from:f.in.pos], int(total)
	f.frame = 128 + bytes + 2*int64(f.in.left())
}

func slotBytes(t byte) int64 {
	if t == typeV128 {
		return 16
	}
	return 8
}

// assemble appends size, locals and code.
func (f *function) assemble(out, before, after []byte) []byte {
	locals := appendU32(nil, uint32(f.nGroups+2))
	locals = append(locals, f.groups...)
	locals = append(locals, 1, typeI64, 1, typeI32)
	out = appendU32(out, uint32(len(locals)+len(before)+len(f.body)+len(after)))
	start := len(out)
	out = append(out, locals...)
	out = append(out, before...)
	f.noteMoves(start, len(out))
	out = append(out, f.body...)
	return append(out, after...)
}

// rewriteInstructions walks over the body. It is a loop with its own stack of
// frames, so nesting costs no host stack.
func (f *function) rewriteInstructions() {
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
			kind, rise = f.readPrefixed(&misc, &miscRise)
		case prefixVector:
			kind, rise = f.readPrefixed(&vector, &vectorRise)
		}
		f.meterInstruction(kind, opcode, at)
		f.rewriteInstruction(kind, opcode, at)
		f.height += int(rise)
	}
	if f.in.err == nil {
		f.copyOriginal(f.in.pos)
		_ = f.in.done() // the reader keeps its first error
	}
}

// readPrefixed reads the rest of a two-part opcode. wazero reads one byte for a
// vector opcode and takes the second byte of 0x80–0xff, which is 1, for a nop;
// only the shortest form means the same to both.
func (f *function) readPrefixed(table *[256]immediate, rises *[256]int8) (immediate, int8) {
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

// meterInstruction pays for the instruction that begins at at, with a new charge before
// it if one is due.
func (f *function) meterInstruction(kind immediate, opcode byte, at int) {
	cost := costOf(kind, opcode)
	f.splitLong(cost)
	if shift, bulk := bulkShift(kind); bulk && f.now != dead {
		f.copyOriginal(at)
		f.chargeBulk(shift)
	} else if cost > 0 && f.now == pending {
		f.copyOriginal(at)
		f.chargeSegment(at-f.checked > checkEvery)
	}
	f.pay(cost)
	if canTrap(kind, opcode) {
		f.shape.traps++
	}
}

// rewriteInstruction reads the immediates and rewrites what needs rewriting.
func (f *function) rewriteInstruction(kind immediate, opcode byte, at int) {
	switch kind {
	case plain:
	case trap:
		f.now = dead
	case blockType:
		f.openBlock(opcode, at)
	case elseMark:
		if !f.beginElse() {
			f.in.fail(ErrMalformed, "else without if")
		}
		top := f.frames[len(f.frames)-1]
		f.height = top.base + top.params
	case endMark:
		f.endFrame()
	case label, labels, leave:
		f.rewriteJump(kind, opcode, at)
	case call, callIndirect:
		f.rewriteCall(kind, at)
	case localIndex:
		i := f.in.index(f.locals, "local")
		if f.in.err == nil && f.now != dead {
			f.useLocal(i, opcode != opLocalGet)
		}
		if opcode != opLocalGet {
			f.shape.sets++
			f.shape.depths += len(f.frames)
		}
	case globalIndex:
		f.in.index(f.globals, "global")
	case refFunc:
		i := f.in.index(len(f.functions), "function")
		f.copyOriginal(at)
		f.body, f.copied = op(f.body, opcode, f.movedIndex(i)), f.in.pos
	case memoryFill:
		f.chargePieces(kind, opcode, at, f.fillIndex())
	case memoryCopy:
		f.chargePieces(kind, opcode, at, f.copyIndex())
	default:
		f.readOperand(kind, opcode)
	}
}

// endFrame closes a frame, and the loop around a loop.
func (f *function) endFrame() {
	before, top := f.refills(), f.frames[len(f.frames)-1]
	if f.closeFrame(); f.refills() < before {
		f.copyOriginal(f.in.pos)
		f.body = append(f.body, opEnd)
	}
	f.height = top.base + top.results
	if top.opcode == opLoop {
		f.leaveLoop()
	}
	f.countEdges(1)
}

// openBlock opens a frame; a loop charges at its header.
func (f *function) openBlock(opcode byte, at int) {
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
	f.openFrame(frame{opcode: opcode, entry: f.now, join: nowhere, checked: f.checked, refills: refills, params: params, results: results,
		base: f.height - params, number: f.numbers})
	f.numbers++
	if opcode == opLoop {
		f.loops = append(f.loops, loopUse{order: f.order})
	}
	if len(f.frames) > f.limits.Nesting {
		f.in.fail(ErrLimit, "blocks more than %d deep", f.limits.Nesting)
	}
	if opcode == opLoop && f.now != dead {
		f.chargeLoop(at)
		f.pay(1)
	}
}

// blockType reads a block's type and returns its arity.
func (f *function) blockType() (params, results int) {
	switch c := f.in.byte(); {
	case c == emptyBlock:
		return 0, 0
	case isValueType(c):
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

// rewriteJump handles br, br_if, br_table and return.
func (f *function) rewriteJump(kind immediate, opcode byte, at int) {
	f.copyOriginal(at)
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
		f.rewriteLabel()
	case labels:
		n := f.in.count(f.limits.BodyBytes, "labels")
		f.body = op(f.body, opcode, uint32(n))
		f.shape.targets += n
		f.height--
		f.countEdges(n + 1)
		for range n {
			if f.rewriteLabel(); f.in.err != nil {
				return
			}
		}
		f.rewriteLabel()
	}
	f.copied = f.in.pos
	if opcode != opBrIf {
		f.now = dead
	}
}

// rewriteLabel reads a label, notes the edge to it and writes it, with the loops
// that were put between.
func (f *function) rewriteLabel() {
	i := f.in.index(len(f.frames), "label")
	if f.in.err != nil {
		return
	}
	to := f.frames[len(f.frames)-1-i]
	f.body = appendU32(f.body, uint32(i+f.refills()-to.refills))
	if f.noteEdge(i); to.opcode == opLoop {
		f.shape.arity += to.params
	} else {
		f.shape.arity += to.results
	}
}

// wideCall is how many values a call may have before they count.
const wideCall = 16

// rewriteCall stores the counter for the callee and reads it again after.
func (f *function) rewriteCall(kind immediate, at int) {
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
	f.copyOriginal(at)
	if f.now != dead {
		f.body = f.storeFuel(f.body)
	}
	if function >= 0 {
		f.body, f.copied = op(f.body, opCall, f.movedIndex(function)), f.in.pos
	} else {
		f.copyOriginal(f.in.pos)
	}
	if f.now != dead {
		f.body = f.loadFuel(f.body)
		f.cutLong()
	}
}
