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
		s := signature{params: m.valueTypes(r, "parameters"), results: m.valueTypes(r, "results")}
		if r.err != nil {
			return nil
		}
		m.types = append(m.types, s)
	}
	return nil
}

func (m *module) valueTypes(r *reader, what string) []byte {
	list := r.bytes(r.count(m.limits.Arity, what))
	for _, t := range list {
		if !valueType(t) {
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
		if name := m.symbol(r); name == ImportModule {
			r.fail(ErrUnsupported, "import of %q, which is the host's", name)
		}
		m.symbol(r)
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

// symbol reads the name of an import or export.
func (m *module) symbol(r *reader) string {
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
		name := m.symbol(r)
		if len(name) >= len(private) && name[:len(private)] == private {
			r.fail(ErrUnsupported, "export %q, names beginning with %q are the host's", name, private)
		}
		if kind := r.byte(); kind == 0 {
			p.function()
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
	b = append(b, p.done()...)
	b = op(appendName(b, FuelExport), 3, m.fuelGlobal())
	b = op(appendName(b, StackExport), 3, m.stackGlobal())
	for _, i := range m.mutable {
		b = op(appendName(b, globalName(i)), 3, i)
	}
	if m.start >= 0 {
		b = op(appendName(b, StartExport), 0, m.moved(m.start))
	}
	return b
}
