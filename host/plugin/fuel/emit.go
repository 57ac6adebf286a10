// SPDX-License-Identifier: MIT

package fuel

// appendU32 appends the shortest unsigned LEB128 form of x.
func appendU32(b []byte, x uint32) []byte {
	for x >= 0x80 {
		b = append(b, byte(x)|0x80)
		x >>= 7
	}
	return append(b, byte(x))
}

// appendSigned appends the shortest signed LEB128 form of x.
func appendSigned(b []byte, x int64) []byte {
	for {
		c := byte(x & 0x7f)
		x >>= 7
		if x == 0 && c&0x40 == 0 || x == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

// costBytes is the room left for a cost that is known only when its segment
// is complete. 34 signed bits hold any cost a function body can have.
const costBytes = 5

// putCost writes x, not negative, as signed LEB128 of exactly costBytes bytes.
func putCost(b []byte, x int64) {
	for i := range costBytes - 1 {
		b[i] = byte(x&0x7f) | 0x80
		x >>= 7
	}
	b[costBytes-1] = byte(x & 0x3f)
}

// appendName appends a length and the bytes of s.
func appendName(b []byte, s string) []byte {
	return append(appendU32(b, uint32(len(s))), s...)
}

// appendSection appends a section with its header.
func appendSection(b []byte, id byte, body []byte) []byte {
	b = appendU32(append(b, id), uint32(len(body)))
	return append(b, body...)
}

// op appends an opcode with one index.
func op(b []byte, opcode byte, index uint32) []byte {
	return appendU32(append(b, opcode), index)
}
