// SPDX-License-Identifier: MIT

package fuel

// patch copies a section, or a part of one, from where it began up to where
// done is called; indices of functions are replaced on the way.
type patch struct {
	*module
	in     *reader
	out    []byte
	copied int // in.data up to here is in out
}

func newPatch(m *module, in *reader) *patch { return &patch{module: m, in: in, copied: in.pos} }

// function reads the index of a function and returns it as it was.
func (p *patch) function() int {
	at := p.in.pos
	i := p.in.index(len(p.functions), "function")
	p.out = append(p.out, p.in.data[p.copied:at]...)
	p.out = appendU32(p.out, p.moved(i))
	p.copied = p.in.pos
	return i
}

// done returns what was copied.
func (p *patch) done() []byte {
	p.out = append(p.out, p.in.data[p.copied:p.in.pos]...)
	p.copied = p.in.pos
	return p.out
}

// constant checks a constant expression of WebAssembly 2.0. Globals cannot
// stand in one, since none can be imported.
func (p *patch) constant() {
	r := p.in
	switch opcode := r.byte(); opcode {
	case 0x41:
		r.signed(32)
	case 0x42:
		r.signed(64)
	case 0x43:
		r.bytes(4)
	case 0x44:
		r.bytes(8)
	case 0xd0:
		if t := r.byte(); !referenceType(t) {
			r.fail(ErrUnsupported, "reference type %#x", t)
		}
	case 0xd2:
		p.function()
	case 0xfd:
		if sub := r.byte(); sub != 0x0c {
			r.fail(ErrUnsupported, "vector opcode %#x in a constant", sub)
		}
		r.bytes(16)
	default:
		r.fail(ErrUnsupported, "opcode %#x in a constant", opcode)
	}
	if r.byte() != opEnd {
		r.fail(ErrUnsupported, "a constant of several instructions")
	}
}
