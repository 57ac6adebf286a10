// SPDX-License-Identifier: MIT

package stage

import (
	"math"
	"slices"
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
