// SPDX-License-Identifier: MIT

package fuel

import "fmt"

// reader walks over bytes with bounds checks. The first error sticks, and
// every later read returns zero, so that a caller may check once for several
// reads; a loop must check err in each round.
type reader struct {
	data []byte
	pos  int
	base int // offset of data in the module, for messages
	err  error
}

func (r *reader) fail(kind error, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%s at byte %d: %w", fmt.Sprintf(format, args...), r.base+r.pos, kind)
	}
}

func (r *reader) left() int { return len(r.data) - r.pos }

func (r *reader) more() bool { return r.err == nil && r.pos < len(r.data) }

func (r *reader) byte() byte {
	if r.err != nil || r.pos >= len(r.data) {
		r.fail(ErrMalformed, "unexpected end")
		return 0
	}
	r.pos++
	return r.data[r.pos-1]
}

// bytes returns the next n bytes without copying them.
func (r *reader) bytes(n int) []byte {
	if r.err != nil || n < 0 || n > r.left() {
		r.fail(ErrMalformed, "%d bytes expected, %d left", n, r.left())
		return nil
	}
	r.pos += n
	return r.data[r.pos-n : r.pos]
}

// u32 reads an unsigned LEB128 number of at most 32 bits in at most 5 bytes.
func (r *reader) u32() uint32 {
	var x uint32
	for shift := 0; shift < 35; shift += 7 {
		c := r.byte()
		if shift == 28 && c > 0x0f {
			break
		}
		x |= uint32(c&0x7f) << shift
		if c < 0x80 {
			return x
		}
	}
	r.fail(ErrMalformed, "number longer than 32 bits")
	return 0
}

// signed reads a signed LEB128 number of at most bits bits.
func (r *reader) signed(bits int) int64 {
	var x int64
	for shift := 0; shift < bits; shift += 7 {
		c := r.byte()
		x |= int64(c&0x7f) << shift
		if c >= 0x80 {
			continue
		}
		if shift+7 < 64 && c&0x40 != 0 {
			x |= -1 << (shift + 7)
		}
		// Bits beyond the width must repeat the sign.
		if unused := shift + 7 - bits; unused > 0 {
			if top := int8(c<<1) >> (7 - unused); top != 0 && top != -1 {
				break
			}
		}
		return x
	}
	r.fail(ErrMalformed, "number longer than %d bits", bits)
	return 0
}

// count reads a vector's length. Each element has at least one byte, so more
// elements than bytes cannot be; this keeps allocations in proportion.
func (r *reader) count(limit int, what string) int {
	n := r.u32()
	if int64(n) > int64(r.left()) {
		r.fail(ErrMalformed, "%d %s in %d bytes", n, what, r.left())
		return 0
	}
	if int64(n) > int64(limit) {
		r.fail(ErrLimit, "%d %s, at most %d are allowed", n, what, limit)
		return 0
	}
	return int(n)
}

// index reads an index below n. Indices are checked against what the module
// itself defines: what Rewrite appends lies beyond and cannot be named.
func (r *reader) index(n int, what string) int {
	i := r.u32()
	if int64(i) >= int64(n) {
		r.fail(ErrMalformed, "%s index %d, the module has %d", what, i, n)
		return 0
	}
	return int(i)
}

// sub returns a reader over the next n bytes.
func (r *reader) sub(n int) *reader {
	base := r.base + r.pos
	data := r.bytes(n)
	return &reader{data: data, base: base, err: r.err}
}

// done reports the sticky error, or that bytes are left over.
func (r *reader) done() error {
	if r.err == nil && r.pos != len(r.data) {
		r.fail(ErrMalformed, "%d bytes left over", r.left())
	}
	return r.err
}

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
