// SPDX-License-Identifier: MIT

package stage

import (
	"math"
	"unsafe"

	"github.com/penstock/penstock/scheduler/chain"
)

// applyLogits shows the plugin the whole row. The guest's copy is the view from then on. It is not copied back, since this instance
// is not called again before the chain has chosen.
func (s *Stage) applyLogits(v *chain.View) error {
	row := s.instance.Buffers.Logits()[:s.vocabulary()]
	if v.N < 0 {
		copy(row, v.Row)
	} else {
		for i := range row {
			row[i] = banned
		}
		for i, id := range v.ID[:v.N] {
			row[id] = v.Logit[i]
		}
	}
	edited, err := s.sample(len(row), v)
	if err != nil || !edited {
		return err
	}
	if at := firstInvalid(row); at >= 0 {
		return s.wrongReturn("logit %v of token %d: neither finite nor −inf", row[at], at)
	}
	if !anyAbove(row) {
		return s.wrongReturn("no logit is left above −inf")
	}
	v.Row, v.N = row, -1
	return nil
}

// firstInvalid finds the first logit that is NaN or +inf, or returns −1. A row is half a megabyte, so it checks whole blocks, two
// logits in each addition, and looks at single logits only where a block has an invalid one.
func firstInvalid(row []float32) int {
	for from := 0; from < len(row); from += 2 * pairs {
		part := row[from:min(from+2*pairs, len(row))]
		if len(part) == 2*pairs {
			block := (*[pairs]uint64)(unsafe.Pointer(&part[0]))
			if !hasNonFinite(block) || !hasInvalid(block) {
				continue
			}
		}
		for i, x := range part {
			if !(x <= math.MaxFloat32) {
				return from + i
			}
		}
	}
	return -1
}

const (
	pairs = 32                    // of logits in a block
	signs = 0x8000_0000_8000_0000 // the sign bits of a pair
	units = 0x0080_0000_0080_0000 // the least bits of its exponents
)

// hasNonFinite reports whether a block has −inf, +inf or NaN: their exponents are all ones, so adding one carries into the sign. The
// four sums do not depend on each other, so that the processor computes them side by side.
func hasNonFinite(block *[pairs]uint64) bool {
	var a, b, c, d uint64
	for i := 0; i < pairs; i += 4 {
		a |= block[i]&^signs + units
		b |= block[i+1]&^signs + units
		c |= block[i+2]&^signs + units
		d |= block[i+3]&^signs + units
	}
	return (a|b|c|d)&signs != 0
}

// hasInvalid reports whether a block has +inf or NaN, and takes twice as long as hasNonFinite. If the sign is set it adds one less,
// so that −inf does not carry.
func hasInvalid(block *[pairs]uint64) bool {
	var sum uint64
	for _, pair := range block {
		sum |= pair&^signs + units - pair&signs>>31
	}
	return sum&signs != 0
}

func anyAbove(row []float32) bool {
	for _, x := range row {
		if x > banned {
			return true
		}
	}
	return false
}
