// SPDX-License-Identifier: MIT

package stage

import (
	"math"
	"unsafe"
)

// This file looks for logits that a guest must not leave, NaN and +inf. It checks whole blocks,
// two logits in each addition, and looks at single logits only where a block has an invalid one.

const (
	pairs     = 32                    // of logits in a block
	blockSize = 2 * pairs             // logits
	signs     = 0x8000_0000_8000_0000 // the sign bits of a pair
	units     = 0x0080_0000_0080_0000 // the least bits of its exponents
)

// bannedPairs is a block of −inf.
var bannedPairs = func() (b [pairs]uint64) {
	for i := range b {
		b[i] = 0xff80_0000_ff80_0000
	}
	return b
}()

// isLogit reports whether x is finite or −inf.
func isLogit(x float32) bool { return x <= math.MaxFloat32 }

// pairsOf reads a whole block as pairs.
func pairsOf(block []float32) *[pairs]uint64 {
	_ = block[blockSize-1]
	return (*[pairs]uint64)(unsafe.Pointer(unsafe.SliceData(block)))
}

// firstInvalid finds the first logit that is NaN or +inf, or returns −1.
func firstInvalid(row []float32) int {
	for from := 0; from < len(row); from += blockSize {
		part := row[from:min(from+blockSize, len(row))]
		if len(part) == blockSize {
			if block := pairsOf(part); !hasNonFinite(block) || !hasInvalid(block) {
				continue
			}
		}
		for i, x := range part {
			if !isLogit(x) {
				return from + i
			}
		}
	}
	return -1
}

// hasNonFinite reports whether a block has −inf, +inf or NaN: their exponents are all ones, so
// adding one carries into the sign. The four sums do not depend on each other, so that the
// processor computes them side by side.
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

// hasInvalid reports whether a block has +inf or NaN, and takes twice as long as hasNonFinite. If
// the sign is set it adds one less, so that −inf does not carry.
func hasInvalid(block *[pairs]uint64) bool {
	var a, b, c, d uint64
	for i := 0; i < pairs; i += 4 {
		a |= block[i]&^signs + units - block[i]&signs>>31
		b |= block[i+1]&^signs + units - block[i+1]&signs>>31
		c |= block[i+2]&^signs + units - block[i+2]&signs>>31
		d |= block[i+3]&^signs + units - block[i+3]&signs>>31
	}
	return (a|b|c|d)&signs != 0
}
