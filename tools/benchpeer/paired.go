// SPDX-License-Identifier: MIT

package main

import (
	"math"
	"slices"

	"github.com/penstock/penstock/host/bench"
)

// sure is how often an interval has to contain the true ratio.
const sure = 0.95

// estimate is a ratio and the interval that contains it so surely; without an interval low and high
// are 0 and infinite.
type estimate struct {
	ratio, low, high float64
	n                int // pairs
}

// known reports whether there is an interval.
func (e estimate) known() bool { return e.low > 0 }

// pairedRatio is the median of the pairs' ratios. Its interval is that of the sign test, which
// assumes nothing but that a pair's ratio is as often above the true one as below it: how far off a
// disturbed pair is does not matter. It needs six pairs.
func pairedRatio(ratios []float64) estimate {
	sorted := slices.Clone(ratios)
	n := len(sorted)
	e := estimate{ratio: bench.Median(sorted), high: math.Inf(1), n: n}
	if k := signRank(n); k > 0 {
		e.low, e.high = sorted[k-1], sorted[n-k]
	}
	return e
}

// signRank is the rank, from 1 on, of the interval's ends among n sorted values, counted from
// below and from above: the greatest at which the median is outside no more often than it may be.
// 0: n are too few.
func signRank(n int) int {
	term := math.Pow(0.5, float64(n)) // how probable k heads of n fair coins are
	below := term                     // and no more than k
	k := 0
	for ; k < n && 2*below <= 1-sure; k++ {
		term *= float64(n-k) / float64(k+1)
		below += term
	}
	return k
}
