// SPDX-License-Identifier: MIT

package fuel

// Exports reports whether a module exports a name, from its sections and its list of exports
// alone: a question that is answered before anything costs time. Errors are those of Rewrite.
func Exports(wasm []byte, name string, limits Limits) (bool, error) {
	l, err := split(wasm)
	if err != nil {
		return false, err
	}
	r := l.body[secExport]
	if r == nil {
		return false, nil
	}
	m, found := &module{limits: limits}, false
	for range r.count(limits.Exports, "exports") {
		found = m.symbol(r) == name || found
		r.byte() // what it is, and which
		r.u32()
		if r.err != nil {
			break
		}
	}
	return found, r.err
}
