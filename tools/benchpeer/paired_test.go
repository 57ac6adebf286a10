// SPDX-License-Identifier: MIT

package main

import (
	"math"
	"testing"
)

func TestSignRank_IsThatOfTheTables(t *testing.T) {
	for n, want := range map[int]int{0: 0, 1: 0, 5: 0, 6: 1, 8: 1, 9: 2, 12: 3, 15: 4, 20: 6, 25: 8, 30: 10, 40: 14, 100: 40} {
		if got := signRank(n); got != want {
			t.Errorf("of %d: %d, not %d", n, got, want)
		}
	}
}

func TestPairedRatio_IsTheMedianWithAnInterval(t *testing.T) {
	// Ten pairs, two of which another program disturbed.
	e := pairedRatio([]float64{1.00, 0.99, 1.01, 1.02, 7.00, 1.00, 0.10, 0.98, 1.01, 1.03})
	if math.Abs(e.ratio-1.005) > 1e-9 || e.low != 0.98 || e.high != 1.03 || e.n != 10 {
		t.Errorf("%+v", e)
	}
	if e := pairedRatio([]float64{1, 2, 3, 4, 5}); e.ratio != 3 || e.low != 0 || !math.IsInf(e.high, 1) {
		t.Errorf("five pairs have no interval: %+v", e)
	}
	if e := pairedRatio(nil); e.ratio != 0 || e.n != 0 {
		t.Errorf("no pairs: %+v", e)
	}
}
