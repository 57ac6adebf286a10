// SPDX-License-Identifier: MIT

package fuel

// Skeleton returns a rewritten module without its code: every function is there and traps. A
// runtime that has the code already needs nothing else of the module, and reads the skeleton of a
// large one in a fraction of the time.
func Skeleton(wasm []byte) []byte {
	const header = 8
	r := &reader{data: wasm, pos: header}
	skeleton := append([]byte(nil), wasm[:header]...)
	for r.more() {
		id := r.byte()
		body := r.bytes(int(r.u32()))
		if id == secCode {
			body = emptyBodies((&reader{data: body}).u32())
		}
		skeleton = appendSection(skeleton, id, body)
	}
	return skeleton
}

// emptyBodies is a code section of n functions.
func emptyBodies(n uint32) []byte {
	section := appendU32(nil, n)
	for range n {
		section = append(section, 3, 0, opUnreachable, opEnd) // bytes, groups of locals
	}
	return section
}
