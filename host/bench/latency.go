// SPDX-License-Identifier: MIT

package bench

import (
	"math"
	"slices"
	"time"
)

// Latency describes a set of durations, in milliseconds. With a Count of 0 the others mean nothing.
type Latency struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50_ms"`
	P95   float64 `json:"p95_ms"`
	P99   float64 `json:"p99_ms"`
	Max   float64 `json:"max_ms"`
}

// latencyOf sorts its argument.
func latencyOf(ds []time.Duration) Latency {
	if len(ds) == 0 {
		return Latency{}
	}
	slices.Sort(ds)
	return Latency{len(ds), percentile(ds, 50), percentile(ds, 95), percentile(ds, 99), percentile(ds, 100)}
}

// percentile is the least of the sorted values that at least p percent do not exceed (nearest
// rank), in milliseconds.
func percentile(sorted []time.Duration, p float64) float64 {
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return float64(sorted[max(rank, 1)-1]) / float64(time.Millisecond)
}
