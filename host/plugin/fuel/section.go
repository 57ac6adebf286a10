// SPDX-License-Identifier: MIT

package fuel

// readTypes reads the type section. It is written by typeSection.
func (m *module) readTypes(r *reader) []byte {
	n := r.count(m.limits.Types, "types")
	m.types = make([]signature, 0, n)
	for range n {
		if form := r.byte(); form != 0x60 {
			r.fail(ErrUnsupported, "type form %#x", form)
		}
		s := signature{params: m.readValueTypes(r, "parameters"), results: m.readValueTypes(r, "results")}
		if r.err != nil {
			return nil
		}
		m.types = append(m.types, s)
	}
	return nil
}

func (m *module) readValueTypes(r *reader, what string) []byte {
	list := r.bytes(r.count(m.limits.Arity, what))
	for _, t := range list {
		if !isValueType(t) {
			r.fail(ErrUnsupported, "value type %#x", t)
		}
	}
	return list
}

// typeSection writes the original types, then those that were appended.
func (m *module) typeSection(r *reader) []byte {
	b := appendU32(nil, uint32(len(m.types)+len(m.extraTypes)))
	if r != nil {
		again := &reader{data: r.data}
		again.u32()
		b = append(b, again.data[again.pos:]...)
	}
	for _, s := range m.extraTypes {
		b = append(b, 0x60)
		b = append(appendU32(b, uint32(len(s.params))), s.params...)
		b = append(appendU32(b, uint32(len(s.results))), s.results...)
	}
	return b
}

// rewriteImports accepts functions only: a memory, table or global of another
// module would be out of the meter's sight. It appends the import of refill.
func (m *module) rewriteImports(r *reader) []byte {
	n := r.count(m.limits.Imports, "imports")
	from := r.pos
	for range n {
		if name := m.readSymbol(r); name == ImportModule {
			r.fail(ErrUnsupported, "import of %q, which is the host's", name)
		}
		m.readSymbol(r)
		if kind := r.byte(); kind != 0 {
			r.fail(ErrUnsupported, "import of kind %d, only functions can be imported", kind)
		}
		m.functions = append(m.functions, uint32(r.index(len(m.types), "type")))
		if r.err != nil {
			return nil
		}
	}
	m.imported = len(m.functions)
	b := append(appendU32(nil, uint32(n+1)), r.data[from:r.pos]...)
	return op(appendName(appendName(b, ImportModule), importRefill), 0, uint32(len(m.types))+m.refillType)
}

// rewriteFunctions appends the functions for bulk operations.
func (m *module) rewriteFunctions(r *reader) []byte {
	n := r.count(m.limits.Functions-m.imported, "functions")
	from := r.pos
	for range n {
		m.functions = append(m.functions, uint32(r.index(len(m.types), "type")))
		if r.err != nil {
			return nil
		}
	}
	b := append(appendU32(nil, uint32(n+2*m.memories)), r.data[from:r.pos]...)
	for range 2 * m.memories {
		b = appendU32(b, m.bulkType())
	}
	return b
}

// readSymbol reads the name of an import or export.
func (m *module) readSymbol(r *reader) string {
	return string(r.bytes(r.count(m.limits.Symbol, "bytes of a name")))
}

// readStart takes the start section out; the function is exported instead.
func (m *module) readStart(r *reader) []byte {
	m.start = r.index(len(m.functions), "function")
	if r.err != nil {
		return nil
	}
	if s := m.types[m.functions[m.start]]; len(s.params)+len(s.results) != 0 {
		r.fail(ErrMalformed, "start function with parameters or results")
	}
	return nil
}

// rewriteExports appends the counters, the start function and what a snapshot
// needs.
func (m *module) rewriteExports(r *reader) []byte {
	counts := [...]int{len(m.functions), m.tables, m.memories, m.globals}
	n := r.count(m.limits.Exports, "exports")
	p := newPatch(m, r)
	for range n {
		name := m.readSymbol(r)
		if len(name) >= len(private) && name[:len(private)] == private {
			r.fail(ErrUnsupported, "export %q, names beginning with %q are the host's", name, private)
		}
		if kind := r.byte(); kind == 0 {
			p.copyFunctionIndex()
		} else if int(kind) < len(counts) {
			r.index(counts[kind], "exported")
		} else {
			r.fail(ErrUnsupported, "export of kind %d", kind)
		}
		if r.err != nil {
			return nil
		}
	}
	b := appendU32(nil, uint32(n+2+len(m.mutable)+min(1, m.start+1)))
	b = append(b, p.finish()...)
	b = op(appendName(b, FuelExport), 3, m.fuelGlobal())
	b = op(appendName(b, StackExport), 3, m.stackGlobal())
	for _, i := range m.mutable {
		b = op(appendName(b, globalName(i)), 3, i)
	}
	if m.start >= 0 {
		b = op(appendName(b, StartExport), 0, m.movedIndex(m.start))
	}
	return b
}

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
		if !isReferenceType(t.kind) {
			r.fail(ErrUnsupported, "table of type %#x", t.kind)
		}
		t.min, t.max = readRange(r, 1<<32-1)
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
		low, high := readRange(r, 65536)
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

// readRange reads limits; without a maximum it is top.
func readRange(r *reader, top uint32) (low, high uint32) {
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
		if !isValueType(kind) {
			r.fail(ErrUnsupported, "global of type %#x", kind)
		}
		if mutable > 1 {
			r.fail(ErrMalformed, "mutability %d", mutable)
		}
		p.copyConstant()
		if r.err != nil {
			return nil
		}
		switch {
		case mutable == 0:
		case kind == typeV128 || isReferenceType(kind):
			m.immovable = "a mutable global holds a vector or a reference"
		default:
			m.mutable = append(m.mutable, uint32(i))
		}
	}
	m.globals = n
	b := appendU32(nil, uint32(n+2))
	b = append(b, p.finish()...)
	counter := []byte{typeI64, 1, opI64Const, 0, opEnd}
	return append(append(b, counter...), counter...)
}

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
			p.copyConstant()
		}
		if flags&3 != 0 {
			if t := r.byte(); expressions && !isReferenceType(t) || !expressions && t != 0 {
				r.fail(ErrUnsupported, "elements of type %#x", t)
			}
		}
		n := r.count(left, "elements")
		left -= n
		for range n {
			if expressions {
				p.copyConstant()
			} else {
				p.copyFunctionIndex()
			}
			if r.err != nil {
				return nil
			}
		}
		if r.err != nil {
			return nil
		}
	}
	return p.finish()
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
			p.copyConstant()
		}
		r.bytes(int(r.u32()))
		if r.err != nil {
			return nil
		}
	}
	if n == 0 {
		return nil
	}
	return p.finish()
}
