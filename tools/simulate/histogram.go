// SPDX-License-Identifier: MIT

package main

import (
	"math/bits"
	"time"
)

// histogram counts durations in buckets that are 1/64 of their value wide.
type histogram struct {
	counts [64 * 40]int
	n      int
	sum    time.Duration
}

// precision is how many bits of a number of microseconds tell buckets apart.
const precision = 6

func (h *histogram) add(d time.Duration) {
	h.counts[bucket(uint64(max(d, 0)/time.Microsecond))]++
	h.n++
	h.sum += d
}

// mean is the average duration; 0 if there are none.
func (h *histogram) mean() time.Duration { return h.sum / time.Duration(max(h.n, 1)) }

func bucket(us uint64) int {
	shift := max(bits.Len64(us)-precision-1, 0)
	return shift<<precision + int(us>>shift)
}

// quantile is the least duration that is in the bucket where the part q of all durations is
// reached; 0 if there are none.
func (h *histogram) quantile(q float64) time.Duration {
	rank, seen := int(q*float64(h.n)), 0
	for i, n := range h.counts {
		if seen += n; seen > rank {
			return least(i)
		}
	}
	return 0
}

// least is the shortest duration in a bucket.
func least(i int) time.Duration {
	shift := max(i>>precision-1, 0)
	return time.Duration(i-shift<<precision) << shift * time.Microsecond
}
