// SPDX-License-Identifier: MIT

package native

import (
	"math"
	"testing"
)

// A thread that computes all the time takes a processor's time.
func TestWithin(t *testing.T) {
	for _, c := range []struct {
		cores      int
		processors float64
		want       int
	}{{8, math.Inf(1), 8}, {8, 2, 2}, {8, 1.5, 1}, {8, 3.99, 3}, {2, 64, 2}, {4, 0.25, 1}} {
		if got := within(c.cores, c.processors); got != c.want {
			t.Errorf("%d cores, time of %v processors: %d, want %d", c.cores, c.processors, got, c.want)
		}
	}
}
