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

// prologue opens both blocks and pays for entry and frame with one branch.
func (f *function) prologue(s signature) []byte {
	b := []byte{opBlock, emptyBlock, opBlock}
	b = append(b, f.blockOf(s.results)...)
	if f.stacked() {
		b = op(b, opGlobalGet, f.stackGlobal())
		b = append(appendSigned(append(b, opI64Const), f.frame), opI64Sub)
		b = op(b, opGlobalSet, f.stackGlobal())
	}
	b = op(b, opGlobalGet, f.fuelGlobal())
	b = append(appendSigned(append(b, opI64Const), f.costs[0]), opI64Sub)
	b = op(b, opLocalTee, f.fuelLocal())
	if f.stacked() {
		b = append(op(b, opGlobalGet, f.stackGlobal()), opI64Or)
	}
	return append(b, opI64Const, 0, opI64LtS, opBrIf, 1)
}

// epilogue closes both blocks. The body's own end has closed the inner one.
func (f *function) epilogue() []byte {
	var b []byte
	if f.stacked() {
		b = op(b, opGlobalGet, f.stackGlobal())
		b = append(appendSigned(append(b, opI64Const), f.frame), opI64Add)
		b = op(b, opGlobalSet, f.stackGlobal())
	}
	b = f.store(b)
	b = append(b, opReturn, opEnd, opI64Const, 0x7f) // −1
	b = op(b, opGlobalSet, f.fuelGlobal())
	return append(b, opUnreachable, opEnd)
}

func (f *function) store(b []byte) []byte {
	return op(op(b, opLocalGet, f.fuelLocal()), opGlobalSet, f.fuelGlobal())
}

func (f *function) load(b []byte) []byte {
	return op(op(b, opGlobalGet, f.fuelGlobal()), opLocalSet, f.fuelLocal())
}

// flush copies the original up to position end.
func (f *function) flush(end int) {
	f.body = append(f.body, f.in.data[f.copied:end]...)
	f.copied = end
}

// charge begins a segment: its cost is taken from the counter, which must not
// become negative.
func (f *function) charge() {
	f.body = op(f.body, opLocalGet, f.fuelLocal())
	f.finish()
}

// chargeBulk begins a segment before a bulk operation and adds what the
// operation moves, whose size is on top of the operand stack. The counter has
// 64 bits and the size 32, so nothing wraps.
func (f *function) chargeBulk(shift int) {
	f.body = op(f.body, opLocalTee, f.sizeLocal())
	f.body = op(f.body, opLocalGet, f.fuelLocal())
	f.body = append(op(f.body, opLocalGet, f.sizeLocal()), opI64ExtendU, opI64Const)
	if shift < 0 {
		f.body = append(f.body, byte(-shift), opI64ShrU)
	} else {
		f.body = append(f.body, byte(shift), opI64Shl)
	}
	f.body = append(f.body, opI64Sub)
	f.finish()
}

// finish takes the cost of a new segment from the number on the stack.
func (f *function) finish() {
	f.shape.blocks++
	f.body = append(f.body, opI64Const)
	f.begin(len(f.body))
	f.body = append(f.body, make([]byte, costBytes)...)
	f.body = append(f.body, opI64Sub)
	f.body = op(f.body, opLocalTee, f.fuelLocal())
	f.body = append(f.body, opI64Const, 0, opI64LtS)
	f.body = op(f.body, opBrIf, uint32(len(f.frames))) // past the function's own frame: $exhausted
}
