// SPDX-License-Identifier: MIT

package fuel

// smallFrame is the largest frame in bytes that a function without calls may
// have without paying for it: it is the last on the stack.
const smallFrame = 4096

// Within a function the counter lives in a local. A local is a register in
// compiled code where a global is a load and a store in every loop. Calls see
// it in the global: it is stored before and read again after.

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
		b = f.stack(b, opI64Sub)
	}
	b = op(b, opGlobalGet, f.fuelGlobal())
	b = append(appendSigned(append(b, opI64Const), f.costs[0]), opI64Sub)
	b = op(b, opLocalTee, f.fuelLocal())
	if f.stacked() {
		b = append(op(b, opGlobalGet, f.stackGlobal()), opI64Or)
	}
	b = append(b, opI64Const, 0, opI64GeS, opBrIf, 0)
	b = op(op(b, opLocalGet, f.fuelLocal()), opCall, f.refill())
	b = append(appendSigned(append(b, opI64Const), f.costs[0]), opI64Add)
	b = op(b, opGlobalSet, f.fuelGlobal())
	if f.stacked() {
		b = f.stack(b, opI64Add)
	}
	for i := range s.params {
		b = op(b, opLocalGet, uint32(i))
	}
	b = append(op(b, opCall, f.self), opReturn, opEnd, opBlock)
	return append(b, f.blockOf(s.results)...)
}

// stack takes the frame from the counter of the stack, or gives it back.
func (f *function) stack(b []byte, opcode byte) []byte {
	b = op(b, opGlobalGet, f.stackGlobal())
	b = append(appendSigned(append(b, opI64Const), f.frame), opcode)
	return op(b, opGlobalSet, f.stackGlobal())
}

// unless refills unless the number on the stack is positive or 0. It closes a
// block that was opened before that number. The way on comes first: wazero
// gives it the registers.
func (f *function) unless(b []byte) []byte {
	f.startBlock()
	b = append(b, opI64Const, 0, opI64GeS, opBrIf, 0)
	b = op(b, opLocalGet, f.fuelLocal())
	b = op(b, opCall, f.refill())
	return append(op(b, opLocalSet, f.fuelLocal()), opEnd)
}

// epilogue leaves the function. The body's own end has closed its block.
func (f *function) epilogue() []byte {
	var b []byte
	if f.stacked() {
		b = f.stack(b, opI64Add)
	}
	return append(f.store(b), opEnd)
}

func (f *function) store(b []byte) []byte {
	return op(op(b, opLocalGet, f.fuelLocal()), opGlobalSet, f.fuelGlobal())
}

func (f *function) load(b []byte) []byte {
	return op(op(b, opGlobalGet, f.fuelGlobal()), opLocalSet, f.fuelLocal())
}

// flush copies the original up to position end.
func (f *function) flush(end int) {
	f.noteMove()
	f.body = append(f.body, f.in.data[f.copied:end]...)
	f.copied = end
}

// charge begins a segment: its cost is taken from the counter. With check the
// counter must not be negative then, or is filled again.
func (f *function) charge(check bool) {
	if check {
		f.body = append(f.body, opBlock, emptyBlock)
	}
	f.begin()
	f.body = op(f.body, opLocalGet, f.fuelLocal())
	f.cost()
	f.body = append(f.body, opI64Sub)
	if !check {
		f.body = op(f.body, opLocalSet, f.fuelLocal())
		return
	}
	f.check()
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
	f.begin()
	f.cost()
	f.body = append(f.body, opI64Sub)
	f.check()
	f.body = op(f.body, opLocalGet, f.sizeLocal())
}

// cost puts the cost of the segment on the stack, once it is known.
func (f *function) cost() {
	f.body = append(f.body, opI64Const)
	f.places = append(f.places, place{f.now, len(f.body)})
	f.body = append(f.body, make([]byte, costBytes)...)
}

// loop begins a segment at the header of a loop, which begins at at and is
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
func (f *function) loop(at int) {
	header := f.in.data[at:f.in.pos]
	f.flush(at)
	f.copied = f.in.pos
	f.begin()
	take := func() {
		f.body = op(f.body, opLocalGet, f.fuelLocal())
		f.cost()
		f.body = append(f.body, opI64Sub)
	}
	take()
	f.body = op(f.body, opLocalSet, f.fuelLocal())
	f.body = append(append(f.body, header...), opBlock, emptyBlock)
	f.body = f.unless(op(f.body, opLocalGet, f.fuelLocal()))
	f.body = op(f.body, opLocalGet, f.fuelLocal())
	f.cost()
	f.body = op(append(f.body, opI64Add), opLocalSet, f.fuelLocal())
	f.body = append(f.body, header...)
	take()
	f.body = append(op(f.body, opLocalTee, f.fuelLocal()), opI64Const, 0, opI64LtS, opBrIf, 1)
	f.startBlock()
	f.checked = f.in.pos
}

// check looks at the counter, which is on the stack.
func (f *function) check() {
	f.body = f.unless(op(f.body, opLocalTee, f.fuelLocal()))
	f.checked = f.in.pos
}
