// SPDX-License-Identifier: MIT

package fuel

import "unicode/utf8"

// longestName bounds a function's name in bytes; mangled names of Rust stay
// far below it.
const longestName = 4096

// functionNames returns a custom section "name" with the function names of
// the original, which traps then show; nil if there are none. A malformed
// section is dropped, as it must not make a module invalid.
func (m *module) functionNames(r *reader) []byte {
	if r == nil {
		return nil
	}
	for r.more() {
		id := r.byte()
		sub := r.sub(int(r.u32()))
		if id != 1 || r.err != nil {
			continue
		}
		p := newPatch(m, sub)
		if !p.names() {
			return nil
		}
		return appendSection(appendName(nil, "name"), 1, p.done())
	}
	return nil
}

// names reads the map of names; it reports whether it is sound.
func (p *patch) names() bool {
	r, last := p.in, -1
	for range r.count(len(p.functions), "names") {
		i := p.function()
		name := r.bytes(int(r.u32()))
		if r.err != nil || i <= last || len(name) > longestName || !utf8.Valid(name) {
			return false
		}
		last = i
	}
	return r.done() == nil
}
