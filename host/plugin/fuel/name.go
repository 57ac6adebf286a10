// SPDX-License-Identifier: MIT

package fuel

import (
	"fmt"
	"unicode/utf8"
)

// longestName bounds a function's name in bytes; mangled names of Rust stay
// far below it.
const longestName = 4096

// functionNames returns a custom section "name" with the function names of
// the original, which traps then show; nil if there are none. A malformed
// section is dropped, as it must not make a module invalid.
func (m *module) functionNames() []byte {
	names := m.nameMap()
	if names == nil {
		return nil
	}
	p := newPatch(m, names)
	if !p.names(func(int, []byte) {}) {
		return nil
	}
	return appendSection(appendName(nil, "name"), 1, p.done())
}

// nameMap is the map of the functions' names; nil: there is none.
func (m *module) nameMap() *reader {
	if m.names == nil {
		return nil
	}
	for r := *m.names; r.more(); {
		id := r.byte()
		if sub := r.sub(int(r.u32())); id == 1 && r.err == nil {
			return sub
		}
	}
	return nil
}

// named is how an error goes on to name a function by its index.
func (m *module) named(function int) string {
	found := ""
	if names := m.nameMap(); names != nil {
		newPatch(m, names).names(func(i int, name []byte) {
			if i == function {
				found = string(name)
			}
		})
	}
	if found == "" {
		return " (a build with --debug names it)"
	}
	return fmt.Sprintf(" (%.200q)", found)
}

// names reads the map of names; it reports whether it is sound.
func (p *patch) names(each func(function int, name []byte)) bool {
	r, last := p.in, -1
	for range r.count(len(p.functions), "names") {
		i := p.function()
		name := r.bytes(int(r.u32()))
		if r.err != nil || i <= last || len(name) > longestName || !utf8.Valid(name) {
			return false
		}
		each(i, name)
		last = i
	}
	return r.done() == nil
}
