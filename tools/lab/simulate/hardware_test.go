// SPDX-License-Identifier: MIT

package main

import (
	"math"
	"testing"

	"github.com/penstock/penstock/scheduler"
)

// TestCurve_Cost_IsAsMeasured compares the curve with each pass that was measured, in ms: the
// means of two runs of the benchmarks BenchmarkContext_Decode and BenchmarkContext_Chunk/own in
// native.
func TestCurve_Cost_IsAsMeasured(t *testing.T) {
	for _, x := range []struct {
		sequences, cells, tokens int // cells: of each sequence before the pass
		milliseconds             float64
	}{
		{1, 128, 1, 25.1}, {2, 128, 1, 29.7}, {4, 128, 1, 35.2}, {8, 128, 1, 52.5},
		{1, 0, 4, 30.5}, {1, 0, 8, 41.6}, {1, 0, 16, 67.9}, {1, 0, 32, 127.0}, {1, 0, 64, 247.7}, {1, 0, 128, 486.6}, {1, 0, 512, 2023.6},
		{1, 768, 4, 35.0}, {1, 768, 8, 52.2}, {1, 768, 16, 87.7}, {1, 768, 32, 164.3}, {1, 768, 64, 294.2}, {1, 768, 128, 584.8}, {1, 768, 512, 2473.4},
		{1, 1536, 4, 43.4}, {1, 1536, 8, 61.6}, {1, 1536, 16, 107.7}, {1, 1536, 32, 188.3}, {1, 1536, 64, 358.4}, {1, 1536, 128, 724.6}, {1, 1536, 512, 2878.3},
	} {
		var b scheduler.Batch
		for s := range x.sequences {
			for i := range x.tokens {
				b.Add(1, int32(x.cells+i), int32(s), i+1 == x.tokens)
			}
		}
		if got := measured.Cost(&b).Seconds() * 1000; math.Abs(got/x.milliseconds-1) > 0.08 {
			t.Errorf("%d sequences of %d cells, %d tokens each: %.1f ms, %.1f were measured", x.sequences, x.cells, x.tokens, got, x.milliseconds)
		}
	}
}

// TestCurve_Cost_Grows: another token never makes a pass shorter.
func TestCurve_Cost_Grows(t *testing.T) {
	var b scheduler.Batch
	last := measured.passes[0].cost
	for i := range int32(1000) {
		b.Add(1, i, 0, i == 0)
		if got := measured.Cost(&b); got < last {
			t.Fatalf("%d tokens cost %v, one less %v", b.Len(), got, last)
		} else {
			last = got
		}
	}
}
