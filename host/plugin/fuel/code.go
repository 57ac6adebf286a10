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
		f.self = m.moved(m.imported + i)
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
			r.err = fmt.Errorf("function %d%s: %w", m.imported+i, m.named(m.imported+i), body.err)
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
	f.declare(s)
	f.uses = append(f.uses[:0], make([]use, f.locals)...)
	f.copied = in.pos
	f.begin()
	f.pay(1) // the call itself
	f.open(frame{opcode: opBlock, join: nowhere, results: len(s.results)})
	f.instructions()
	if in.err != nil {
		return out
	}
	f.settle()
	return f.assemble(out, f.prologue(s), f.epilogue())
}

// declare reads the local declarations and estimates the frame: 8 bytes for
// each parameter, result and local (16 for a vector), 2 for each byte of code
// and 128 for the rest. wazero gives every spilled value a place of its own,
// so frames grow with the length of the code and not with live values only.
func (f *function) declare(s signature) {
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
		if !valueType(t) {
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

// settle writes the costs of all segments into their charges.
func (f *function) settle() {
	for _, p := range f.places {
		putCost(f.body[p.at:], f.costs[p.segment])
	}
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
