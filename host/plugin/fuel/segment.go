// SPDX-License-Identifier: MIT

package fuel

// rewriteElements checks element segments, in which only the indices of
// functions change.
func (m *module) rewriteElements(r *reader) []byte {
	left, p := int(m.limits.TableElements), newPatch(m, r)
	m.elements = r.count(m.limits.Segments, "element segments")
	for range m.elements {
		flags := r.u32()
		if flags > 7 {
			r.fail(ErrUnsupported, "element segment of kind %d", flags)
		}
		active, explicit, expressions := flags&1 == 0, flags&2 != 0, flags&4 != 0
		if active {
			table := 0
			if explicit {
				table = int(r.u32())
			}
			if table >= m.tables {
				r.fail(ErrMalformed, "table index %d, the module has %d", table, m.tables)
			}
			p.constant()
		}
		if flags&3 != 0 {
			if t := r.byte(); expressions && !referenceType(t) || !expressions && t != 0 {
				r.fail(ErrUnsupported, "elements of type %#x", t)
			}
		}
		n := r.count(left, "elements")
		left -= n
		for range n {
			if expressions {
				p.constant()
			} else {
				p.function()
			}
			if r.err != nil {
				return nil
			}
		}
		if r.err != nil {
			return nil
		}
	}
	return p.done()
}

func (m *module) readDataCount(r *reader) []byte {
	m.datas, m.counted = int(r.u32()), true
	return r.data
}

// rewriteData checks data segments, in which only the indices of functions
// change.
func (m *module) rewriteData(r *reader) []byte {
	p := newPatch(m, r)
	n := r.count(m.limits.Segments, "data segments")
	if m.counted && n != m.datas {
		r.fail(ErrMalformed, "%d data segments, announced were %d", n, m.datas)
	}
	for range n {
		flags := r.u32()
		if flags > 2 {
			r.fail(ErrUnsupported, "data segment of kind %d", flags)
		}
		if flags == 2 {
			r.index(m.memories, "memory")
		}
		if flags != 1 {
			if m.memories == 0 {
				r.fail(ErrMalformed, "data for a memory that is not there")
			}
			p.constant()
		}
		r.bytes(int(r.u32()))
		if r.err != nil {
			return nil
		}
	}
	if n == 0 {
		return nil
	}
	return p.done()
}
