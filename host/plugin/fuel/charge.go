// SPDX-License-Identifier: MIT

package fuel

// A segment is a stretch of code that one charge pays for. Its number says
// which charge; three numbers are special.
const (
	pending = -1 // a charge is due before the next instruction that costs
	dead    = -2 // no execution comes here
	nowhere = -3 // of a join: no edge seen yet
)

// longSegment is the cost from which control flow starts a new segment even
// where it need not, so that one arm does not pay for all others.
const longSegment = 24

// longestSegment is the cost that no segment exceeds by more than an
// instruction, so that what one charge pays for is soon done.
const longestSegment = 1000

// checkEvery is how many bytes of code may run before the counter is looked
// at again. Charges between do without the branch.
const checkEvery = 1024

// frame is an open block, loop, if, or the function itself.
type frame struct {
	opcode  byte // opBlock, opLoop or opIf; after an else it is opBlock
	entry   int  // segment in which an if was entered, for its other arm
	checked int  // where the counter was last looked at before the frame
	refills int  // loops around and including this that were wrapped, see function.loop
	join    int  // what the edges to the frame's end have in common
	params  int
	results int
	base    int // height of the operand stack below its parameters
	number  int // of the frame in its function
}

// ledger keeps track of segments through structured control flow.
//
// It holds that on every path to an instruction the charge of the
// instruction's segment has been paid since the last loop header: a segment
// goes on past an end only if every edge to that end leaves the same one.
type ledger struct {
	now     int     // segment of the code being read
	checked int     // where the counter was last looked at, on every path to here
	costs   []int64 // of each segment so far
	places  []place // where costs are to be written
	frames  []frame
}

func (l *ledger) openFrame(f frame) { l.frames = append(l.frames, f) }

// place is a position in the body for the cost of a segment.
type place struct{ segment, at int }

// beginSegment starts a segment.
func (l *ledger) beginSegment() {
	l.now = len(l.costs)
	l.costs = append(l.costs, 0)
}

func (l *ledger) pay(cost int64) {
	if l.now >= 0 {
		l.costs[l.now] += cost
	}
}

// refills is how many wrapped loops are open.
func (l *ledger) refills() int {
	if len(l.frames) == 0 {
		return 0
	}
	return l.frames[len(l.frames)-1].refills
}

// noteEdge notes a jump from here to the end of the frame that label names. The
// function's own end and loop headers need none: nothing follows the one, and
// the other charges for itself.
func (l *ledger) noteEdge(label int) {
	if i := len(l.frames) - 1 - label; i > 0 && l.frames[i].opcode != opLoop {
		l.frames[i].joinEdge(l.now)
	}
}

// joinEdge merges the segment of an edge to the frame's end with those of earlier edges.
func (f *frame) joinEdge(segment int) {
	switch {
	case segment == dead:
	case f.join == nowhere:
		f.join = segment
	case f.join != segment:
		f.join = pending
	}
}

// beginElse handles an else. It reports false if the innermost frame is not an if.
func (l *ledger) beginElse() bool {
	f := &l.frames[len(l.frames)-1]
	if f.opcode != opIf {
		return false
	}
	f.joinEdge(l.now)
	f.opcode, l.now, l.checked = opBlock, f.entry, f.checked
	l.cutLong()
	return true
}

// closeFrame handles an end.
func (l *ledger) closeFrame() {
	top := len(l.frames) - 1
	f := l.frames[top]
	l.frames = l.frames[:top]
	l.checked = f.checked // what is within may have been jumped over
	if f.opcode == opLoop {
		return // only its last instruction leads here
	}
	f.joinEdge(l.now)
	if f.opcode == opIf {
		f.joinEdge(f.entry) // the arm that is not there
	}
	if l.now = f.join; l.now == nowhere {
		l.now = dead
	}
	l.cutLong()
}

// splitLong ends a segment that would exceed longestSegment.
func (l *ledger) splitLong(cost int64) {
	if l.now >= 0 && l.costs[l.now] > 0 && l.costs[l.now]+cost > longestSegment {
		l.now = pending
	}
}

// cutLong ends a segment that is longer than longSegment. What follows a call need
// not be a new segment, since it was paid for before the call: a branch after each
// call would only make compiling slower.
func (l *ledger) cutLong() {
	if l.now >= 0 && l.costs[l.now] > longSegment {
		l.now = pending
	}
}

// smallFrame is the largest frame in bytes that a function without calls may
// have without paying for it: it is the last on the stack.
const smallFrame = 4096

// Within a function the counter lives in a local. In compiled code a local is a
// register, whereas a global is a load and a store in every loop. For a call the
// counter is stored in the global before, and read again after.

func (f *function) fuelLocal() uint32 { return uint32(f.locals) }
func (f *function) sizeLocal() uint32 { return uint32(f.locals + 1) }

// stacked reports whether the function pays for its frame.
func (f *function) stacked() bool { return f.calls || f.frame > smallFrame }

// prologue pays for entry and frame with one branch and opens the body. After
// a refill it calls the function anew, so that the way on has no call before
// it: wazero keeps no registers across one.
func (f *function) prologue(s signature) []byte {
	b := []byte{opBlock, emptyBlock}
	if f.stacked() {
		b = f.moveStack(b, opI64Sub)
	}
	b = op(b, opGlobalGet, f.fuelGlobal())
	b = append(appendSigned(append(b, opI64Const), f.costs[0]), opI64Sub)
	b = op(b, opLocalTee, f.fuelLocal())
	if f.stacked() {
		b = append(op(b, opGlobalGet, f.stackGlobal()), opI64Or)
	}
	b = append(b, opI64Const, 0, opI64GeS, opBrIf, 0)
	b = op(op(b, opLocalGet, f.fuelLocal()), opCall, f.refillIndex())
	b = append(appendSigned(append(b, opI64Const), f.costs[0]), opI64Add)
	b = op(b, opGlobalSet, f.fuelGlobal())
	if f.stacked() {
		b = f.moveStack(b, opI64Add)
	}
	for i := range s.params {
		b = op(b, opLocalGet, uint32(i))
	}
	b = append(op(b, opCall, f.self), opReturn, opEnd, opBlock)
	return append(b, f.blockOf(s.results)...)
}

// moveStack appends code that takes the frame from the counter of the stack, or
// gives it back.
func (f *function) moveStack(b []byte, opcode byte) []byte {
	b = op(b, opGlobalGet, f.stackGlobal())
	b = append(appendSigned(append(b, opI64Const), f.frame), opcode)
	return op(b, opGlobalSet, f.stackGlobal())
}

// refillUnless appends code that refills unless the number on the stack is positive
// or 0. It closes a block that was opened before that number. The path without a
// refill comes first, since wazero gives it the registers.
func (f *function) refillUnless(b []byte) []byte {
	f.startBlock()
	b = append(b, opI64Const, 0, opI64GeS, opBrIf, 0)
	b = op(b, opLocalGet, f.fuelLocal())
	b = op(b, opCall, f.refillIndex())
	return append(op(b, opLocalSet, f.fuelLocal()), opEnd)
}

// epilogue leaves the function. The body's own end has closed its block.
func (f *function) epilogue() []byte {
	var b []byte
	if f.stacked() {
		b = f.moveStack(b, opI64Add)
	}
	return append(f.storeFuel(b), opEnd)
}

// storeFuel appends code that stores the counter in the global.
func (f *function) storeFuel(b []byte) []byte {
	return op(op(b, opLocalGet, f.fuelLocal()), opGlobalSet, f.fuelGlobal())
}

// loadFuel appends code that reads the counter from the global.
func (f *function) loadFuel(b []byte) []byte {
	return op(op(b, opGlobalGet, f.fuelGlobal()), opLocalSet, f.fuelLocal())
}

// copyOriginal copies the original up to position end.
func (f *function) copyOriginal(end int) {
	f.noteMove()
	f.body = append(f.body, f.in.data[f.copied:end]...)
	f.copied = end
}

// chargeSegment begins a segment: its cost is taken from the counter. With check the
// counter must not be negative then, or is filled again.
func (f *function) chargeSegment(check bool) {
	if check {
		f.body = append(f.body, opBlock, emptyBlock)
	}
	f.beginSegment()
	f.body = op(f.body, opLocalGet, f.fuelLocal())
	f.appendCost()
	f.body = append(f.body, opI64Sub)
	if !check {
		f.body = op(f.body, opLocalSet, f.fuelLocal())
		return
	}
	f.checkCounter()
}

// chargeBulk begins a segment before a bulk operation and adds what the
// operation moves, whose size is on top of the operand stack. The counter has
// 64 bits and the size 32, so nothing wraps.
func (f *function) chargeBulk(shift int) {
	f.body = op(f.body, opLocalSet, f.sizeLocal())
	f.body = append(f.body, opBlock, emptyBlock)
	f.body = op(f.body, opLocalGet, f.fuelLocal())
	f.body = append(op(f.body, opLocalGet, f.sizeLocal()), opI64ExtendU, opI64Const)
	if shift < 0 {
		f.body = append(f.body, byte(-shift), opI64ShrU)
	} else {
		f.body = append(f.body, byte(shift), opI64Shl)
	}
	f.body = append(f.body, opI64Sub)
	f.beginSegment()
	f.appendCost()
	f.body = append(f.body, opI64Sub)
	f.checkCounter()
	f.body = op(f.body, opLocalGet, f.sizeLocal())
}

// appendCost leaves room for a constant, the cost of the segment, that rewrite fills in.
func (f *function) appendCost() {
	f.body = append(f.body, opI64Const)
	f.places = append(f.places, place{f.now, len(f.body)})
	f.body = append(f.body, make([]byte, costBytes)...)
}

// chargeLoop begins a segment at the header of a loop, which begins at at and is
// read. A refill within would make each round slower: wazero keeps no
// registers across a call. So there is a loop around it, which is run again
// for each refill:
//
//	take the cost
//	loop $refill
//	  refill unless the counter is positive or 0
//	  give the cost back
//	  loop
//	    take the cost; br $refill unless the counter is positive or 0
//	    original body
//	  end
//	end
func (f *function) chargeLoop(at int) {
	header := f.in.data[at:f.in.pos]
	f.copyOriginal(at)
	f.copied = f.in.pos
	f.beginSegment()
	take := func() {
		f.body = op(f.body, opLocalGet, f.fuelLocal())
		f.appendCost()
		f.body = append(f.body, opI64Sub)
	}
	take()
	f.body = op(f.body, opLocalSet, f.fuelLocal())
	f.body = append(append(f.body, header...), opBlock, emptyBlock)
	f.body = f.refillUnless(op(f.body, opLocalGet, f.fuelLocal()))
	f.body = op(f.body, opLocalGet, f.fuelLocal())
	f.appendCost()
	f.body = op(append(f.body, opI64Add), opLocalSet, f.fuelLocal())
	f.body = append(f.body, header...)
	take()
	f.body = append(op(f.body, opLocalTee, f.fuelLocal()), opI64Const, 0, opI64LtS, opBrIf, 1)
	f.startBlock()
	f.checked = f.in.pos
}

// checkCounter appends code that refills if the counter, which is on the stack, is negative.
func (f *function) checkCounter() {
	f.body = f.refillUnless(op(f.body, opLocalTee, f.fuelLocal()))
	f.checked = f.in.pos
}

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

// bulkType is the type of the appended functions.
func (m *module) bulkType() uint32 {
	return uint32(len(m.types)) + m.appendType(signature{params: []byte{typeI32, typeI32, typeI32}})
}

// chargePieces hands a large fill or copy to a function that works in pieces. Its
// size is in sizeLocal; the operands are on the stack.
func (f *function) chargePieces(kind immediate, opcode byte, at int, function uint32) {
	f.readOperand(kind, opcode)
	if f.now == dead {
		return
	}
	f.copyOriginal(at)
	f.shape.blocks++
	b := op(f.body, opLocalGet, f.sizeLocal())
	b = append(appendSigned(append(b, opI32Const), bulkBytes), opI32GtU, opIf)
	b = f.storeFuel(appendSigned(b, int64(f.bulkType())))
	f.body = append(f.loadFuel(op(b, opCall, function)), opElse)
	f.copyOriginal(f.in.pos)
	f.body = append(f.body, opEnd)
}

// fillBody fills piece by piece.
func (m *module) fillBody() []byte {
	whole := []byte{opLocalGet, bulkTo, opLocalGet, bulkFrom, opLocalGet, bulkLeft, opMisc, miscFill, 0}
	piece := appendSigned([]byte{opLocalGet, bulkTo, opLocalGet, bulkFrom, opI32Const}, bulkBytes)
	piece = append(piece, opMisc, miscFill, 0)
	return m.pieceBody([]byte{bulkTo}, append(piece, advanceLocal(opI32Add, bulkTo)...), whole)
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
	b = append(append(b, advanceLocal(opI32Add, bulkTo)...), advanceLocal(opI32Add, bulkFrom)...)
	return m.pieceBody([]byte{bulkTo, bulkFrom}, append(b, opEnd), whole)
}

// advanceLocal returns code that moves a parameter by a piece.
func advanceLocal(opcode byte, local byte) []byte {
	b := appendSigned([]byte{opLocalGet, local, opI32Const}, bulkBytes)
	return append(b, opcode, opLocalSet, local)
}

// pieceBody is the body of a function that runs a piece at a time while more
// than one is left, and then the rest. If an address is out of bounds it
// runs everything at once, which traps before a byte is written.
func (m *module) pieceBody(addresses, piece, rest []byte) []byte {
	b := []byte{0, opBlock, emptyBlock} // no locals
	for _, address := range addresses {
		b = append(b, opLocalGet, address, opI64ExtendU, opLocalGet, bulkLeft, opI64ExtendU, opI64Add,
			opMemory, 0, opI64ExtendU, opI64Const, pageShift, opI64Shl, opI64GtU, opBrIf, 0)
	}
	b = append(append(b, opLoop, emptyBlock), piece...)
	b = append(b, advanceLocal(opI32Sub, bulkLeft)...)
	b = op(op(op(b, opGlobalGet, m.fuelGlobal()), opCall, m.refillIndex()), opGlobalSet, m.fuelGlobal())
	b = append(appendSigned(append(b, opLocalGet, bulkLeft, opI32Const), bulkBytes), opI32GtU, opBrIf, 0, opEnd, opEnd)
	b = append(append(b, rest...), opEnd)
	return append(appendU32(nil, uint32(len(b))), b...)
}
