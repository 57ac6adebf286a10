// SPDX-License-Identifier: MIT

package fuel

// rewriteTables writes maxima into the tables so that all together never hold
// more than the limit: each keeps its minimum, and what is left of the limit
// goes to the first tables that can grow.
func (m *module) rewriteTables(r *reader) []byte {
	type table struct {
		kind     byte
		min, max uint32
	}
	n := r.count(m.limits.Tables, "tables")
	list := make([]table, 0, n)
	left := int64(m.limits.TableElements)
	for range n {
		t := table{kind: r.byte()}
		if !referenceType(t.kind) {
			r.fail(ErrUnsupported, "table of type %#x", t.kind)
		}
		t.min, t.max = rangeOf(r, 1<<32-1)
		if left -= int64(t.min); left < 0 {
			r.fail(ErrLimit, "tables of more than %d elements", m.limits.TableElements)
		}
		if r.err != nil {
			return nil
		}
		list = append(list, t)
	}
	b := appendU32(nil, uint32(n))
	for _, t := range list {
		room := min(int64(t.max-t.min), left)
		left -= room
		b = append(b, t.kind, 1)
		b = appendU32(appendU32(b, t.min), t.min+uint32(room))
	}
	m.tables = n
	return b
}

// rewriteMemory notes what the only memory may become, and lets the module ask for as much as it
// wants: the host's memory refuses what is more, and so knows that it did.
func (m *module) rewriteMemory(r *reader) []byte {
	n := r.count(1, "memories")
	b := appendU32(nil, uint32(n))
	if n == 1 {
		low, high := rangeOf(r, 65536)
		if low > m.limits.MemoryPages {
			r.fail(ErrLimit, "memory of %d pages, at most %d are allowed", low, m.limits.MemoryPages)
		}
		m.memoryPages = min(high, m.limits.MemoryPages)
		if b = appendU32(append(b, 0), low); high == 0 { // a region has a page
			b = append(b[:len(b)-2], 1, 0, 0)
		}
	}
	m.memories = n
	return b
}

// rangeOf reads limits; without a maximum it is top.
func rangeOf(r *reader, top uint32) (low, high uint32) {
	flag := r.byte()
	low, high = r.u32(), top
	switch flag {
	case 0:
	case 1:
		high = r.u32()
	default:
		r.fail(ErrUnsupported, "limits of kind %d", flag)
	}
	if low > high || high > top {
		r.fail(ErrMalformed, "limits from %d to %d", low, high)
	}
	return low, high
}

// rewriteGlobals appends the two counters, both i64 and mutable. They begin
// at 0, so nothing runs before the host has filled them.
func (m *module) rewriteGlobals(r *reader) []byte {
	n := r.count(m.limits.Globals, "globals")
	p := newPatch(m, r)
	for i := range n {
		kind, mutable := r.byte(), r.byte()
		if !valueType(kind) {
			r.fail(ErrUnsupported, "global of type %#x", kind)
		}
		if mutable > 1 {
			r.fail(ErrMalformed, "mutability %d", mutable)
		}
		p.constant()
		if r.err != nil {
			return nil
		}
		switch {
		case mutable == 0:
		case kind == typeV128 || referenceType(kind):
			m.immovable = "a mutable global holds a vector or a reference"
		default:
			m.mutable = append(m.mutable, uint32(i))
		}
	}
	m.globals = n
	b := appendU32(nil, uint32(n+2))
	b = append(b, p.done()...)
	counter := []byte{typeI64, 1, opI64Const, 0, opEnd}
	return append(append(b, counter...), counter...)
}
