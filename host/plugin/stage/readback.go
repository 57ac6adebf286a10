// SPDX-License-Identifier: MIT

package stage

import "unsafe"

// This file checks the candidates that a guest has edited, and takes them.

// checkIDs finds the first id that is no token or was there before. If there is none, problem is
// empty.
func (s *Stage) checkIDs(ids []int32) (problem string, at int) {
	size, n := uint32(s.vocabulary()), 0
	for ; n < len(ids); n++ {
		id := uint32(ids[n])
		if id >= size {
			problem = "not in the vocabulary"
			break
		}
		word, bit := &s.seen[id/64], uint64(1)<<(id%64)
		if *word&bit != 0 {
			problem = "twice"
			break
		}
		*word |= bit
	}
	for _, id := range ids[:n] { // those whose bit was set
		s.seen[uint32(id)/64] = 0
	}
	return problem, n
}

// compact copies the candidates above −inf and returns how many there are, and the index of the
// first logit that is NaN or +inf, or −1. It goes by blocks: most are left as they were, or banned
// as a whole.
func compact(toIDs []int32, toLogits []float32, ids []int32, logits []float32) (kept, invalid int) {
	for from := 0; from < len(ids); from += blockSize {
		to := min(from+blockSize, len(ids))
		part := logits[from:to]
		if to-from == blockSize {
			switch block := pairsOf(part); {
			case !hasNonFinite(block):
				copy(toIDs[kept:], ids[from:to])
				copy(toLogits[kept:], part)
				kept += blockSize
				continue
			case *block == bannedPairs:
				continue
			}
		}
		for i, x := range part {
			if !isLogit(x) {
				return 0, from + i
			}
			toIDs[kept], toLogits[kept] = ids[from+i], x
			if x > banned {
				kept++
			}
		}
	}
	return kept, -1
}

// bytesOf are the bytes of ids, which compare faster.
func bytesOf(ids []int32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(ids))), 4*len(ids))
}
