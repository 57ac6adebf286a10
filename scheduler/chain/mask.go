// SPDX-License-Identifier: MIT

package chain

import (
	"math"
	"math/bits"
)

// banned is a block of logits of tokens that may not be drawn.
var banned = func() (b [32]float32) {
	for i := range b {
		b[i] = float32(math.Inf(-1))
	}
	return b
}()

// Masker writes a row's logits where a mask has a bit, and −Inf elsewhere, as many as all three
// have.
type Masker interface {
	MaskRow(to, row []float32, allowed []uint32)
}

// MaskBy has the chain mask rows with m, which is faster than MaskRow.
func (c *Chain) MaskBy(m Masker) { c.restriction.masker = m }

// MaskRow is what a Masker does, on any processor.
func MaskRow(to, row []float32, allowed []uint32) {
	n := min(len(to), len(row), 32*len(allowed))
	for at := 0; at < n; at += 32 {
		from, block, word := row[at:min(at+32, n)], to[at:min(at+32, n)], allowed[at/32]
		if bits.OnesCount32(word) <= 16 {
			copy(block, banned[:])
			for ; word != 0; word &= word - 1 {
				if k := bits.TrailingZeros32(word); k < len(block) {
					block[k] = from[k]
				}
			}
			continue
		}
		copy(block, from)
		for word = ^word; word != 0; word &= word - 1 {
			if k := bits.TrailingZeros32(word); k < len(block) {
				block[k] = banned[0]
			}
		}
	}
}
