// SPDX-License-Identifier: MIT

package stage

import (
	"math"
	"slices"
	"unsafe"
)

// selector finds the largest logits of a row. It reuses its memory and is not for concurrent use.
type selector struct {
	// keys has a number for each logit that is kept: its orderedBits in the upper half and its
	// inverted index in the lower. So the larger logit has the larger key, and of equal ones the
	// first.
	keys []uint64
}

// topK is a plugin.TopK for all platforms.
func (s *selector) topK(row []float32, k int, ids []int32, logits []float32) int {
	s.gatherLargest(row, k)
	for i, key := range s.keys {
		index := ^uint32(key)
		ids[i], logits[i] = int32(index), row[index]
	}
	return len(s.keys)
}

// gatherLargest leaves the keys of the k largest logits of row in s.keys, largest first. It goes
// over the row once and keeps the logits above a bar, which is −inf at first. Whenever 2k are kept,
// quickselect drops the lower half, and the smallest that is left becomes the bar.
func (s *selector) gatherLargest(row []float32, k int) {
	s.keys = slices.Grow(s.keys[:0], 2*k)
	bar := float32(math.Inf(-1))
	i := 0
	for ; i+8 <= len(row); i += 8 {
		b := row[i : i+8 : i+8]
		if b[0] > bar || b[1] > bar || b[2] > bar || b[3] > bar || b[4] > bar || b[5] > bar || b[6] > bar || b[7] > bar {
			for n, x := range b {
				if x > bar {
					bar = s.push(x, i+n, k, bar)
				}
			}
		}
	}
	for ; i < len(row); i++ {
		if row[i] > bar {
			bar = s.push(row[i], i, k, bar)
		}
	}
	if len(s.keys) > k {
		selectLargest(s.keys, k)
		s.keys = s.keys[:k]
	}
	slices.Sort(s.keys)
	slices.Reverse(s.keys)
}

// push keeps a logit and returns the bar that the next one must exceed.
func (s *selector) push(x float32, index, k int, bar float32) float32 {
	s.keys = append(s.keys, orderedBits(x)<<32|uint64(^uint32(index)))
	if len(s.keys) < 2*k {
		return bar
	}
	selectLargest(s.keys, k)
	s.keys = s.keys[:k]
	return fromOrderedBits(slices.Min(s.keys) >> 32)
}

// orderedBits maps a logit to an unsigned integer that compares like the logit: it sets the sign
// bit of a positive float and inverts all bits of a negative one, as for a radix sort of floats.
func orderedBits(x float32) uint64 {
	bits := math.Float32bits(x)
	if bits>>31 != 0 {
		return uint64(^bits)
	}
	return uint64(bits | 1<<31)
}

// fromOrderedBits undoes orderedBits.
func fromOrderedBits(r uint64) float32 {
	if r>>31 != 0 {
		return math.Float32frombits(uint32(r) &^ (1 << 31))
	}
	return math.Float32frombits(^uint32(r))
}

// selectLargest moves the k largest keys to the front, in any order. It is Hoare's quickselect,
// with the median of three as the pivot.
func selectLargest(keys []uint64, k int) {
	from, to := 0, len(keys)-1
	for from < to {
		pivot := medianOfThree(keys[from], keys[(from+to)/2], keys[to])
		i, j := from, to
		for i <= j {
			for keys[i] > pivot {
				i++
			}
			for keys[j] < pivot {
				j--
			}
			if i <= j {
				keys[i], keys[j] = keys[j], keys[i]
				i++
				j--
			}
		}
		switch {
		case k-1 <= j:
			to = j
		case k-1 >= i:
			from = i
		default:
			return
		}
	}
}

func medianOfThree(a, b, c uint64) uint64 { return max(min(a, b), min(max(a, b), c)) }

// A guest must not leave NaN or +inf in a row. The functions below look for them in whole blocks,
// with two logits in each 64-bit addition (SIMD within a register). Only in a block that has an
// invalid logit do they look at single ones.
const (
	pairs     = 32                    // pairs of logits in a block
	blockSize = 2 * pairs             // logits
	signs     = 0x8000_0000_8000_0000 // the sign bits of a pair
	units     = 0x0080_0000_0080_0000 // the lowest bits of the exponents of a pair
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

// pairsOf views a whole block as pairs.
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

// hasNonFinite reports whether a block has −inf, +inf or NaN. Only their exponents are all ones, so
// that adding one carries into the sign bit. With four sums the processor can add in parallel.
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

// hasInvalid reports whether a block has +inf or NaN, in twice the time of hasNonFinite. To
// negative logits it adds one unit in the last place less, so that −inf does not carry.
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
