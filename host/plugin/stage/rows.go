// SPDX-License-Identifier: MIT

package stage

import (
	"math"
	"slices"
	"unsafe"
)

// selector finds the largest logits. Its scratch is reused; it is not for concurrent use.
type selector struct {
	keys []uint64 // a logit's rank above, its index inverted below: larger is better
}

// topK is a portable plugin.TopK. It goes over the row once and keeps the logits above a bar.
// Whenever 2k are kept, the better half stays, and the bar is the k-th best.
func (s *selector) topK(row []float32, k int, ids []int32, logits []float32) int {
	s.gather(row, k)
	for i, key := range s.keys {
		index := ^uint32(key)
		ids[i], logits[i] = int32(index), row[index]
	}
	return len(s.keys)
}

// gather leaves the keys of the k largest of row in s.keys, largest first.
func (s *selector) gather(row []float32, k int) {
	s.keys = slices.Grow(s.keys[:0], 2*k)
	bar := float32(math.Inf(-1))
	i := 0
	for ; i+8 <= len(row); i += 8 {
		b := row[i : i+8 : i+8]
		if b[0] > bar || b[1] > bar || b[2] > bar || b[3] > bar || b[4] > bar || b[5] > bar || b[6] > bar || b[7] > bar {
			for n, x := range b {
				if x > bar {
					bar = s.add(x, i+n, k, bar)
				}
			}
		}
	}
	for ; i < len(row); i++ {
		if row[i] > bar {
			bar = s.add(row[i], i, k, bar)
		}
	}
	if len(s.keys) > k {
		split(s.keys, k)
		s.keys = s.keys[:k]
	}
	slices.Sort(s.keys)
	slices.Reverse(s.keys)
}

// add keeps a logit and returns the bar that the next must pass.
func (s *selector) add(x float32, index, k int, bar float32) float32 {
	s.keys = append(s.keys, rank(x)<<32|uint64(^uint32(index)))
	if len(s.keys) < 2*k {
		return bar
	}
	split(s.keys, k)
	s.keys = s.keys[:k]
	return logit(slices.Min(s.keys) >> 32)
}

// rank maps logits to numbers in the same order.
func rank(x float32) uint64 {
	bits := math.Float32bits(x)
	if bits>>31 != 0 {
		return uint64(^bits)
	}
	return uint64(bits | 1<<31)
}

// logit undoes rank.
func logit(r uint64) float32 {
	if r>>31 != 0 {
		return math.Float32frombits(uint32(r) &^ (1 << 31))
	}
	return math.Float32frombits(^uint32(r))
}

// split moves the k largest of keys to its front, in no order: quickselect, with the middle of
// three as the pivot.
func split(keys []uint64, k int) {
	from, to := 0, len(keys)-1
	for from < to {
		pivot := median(keys[from], keys[(from+to)/2], keys[to])
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

func median(a, b, c uint64) uint64 { return max(min(a, b), min(max(a, b), c)) }

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
