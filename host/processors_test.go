// SPDX-License-Identifier: MIT

package host

import (
	"math"
	"runtime"
	"testing"
)

// A guest, a forward pass and whoever sends tokens can run at once, however few processors there
// are; somebody's own choice is kept.
func TestHost_RunsThreeAtOnce(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	t.Setenv("GOMAXPROCS", "1")
	chooseParallelism()
	if n := runtime.GOMAXPROCS(0); n != 1 {
		t.Errorf("%d at once where 1 was asked for", n)
	}
	t.Setenv("GOMAXPROCS", "")
	chooseParallelism()
	if n := runtime.GOMAXPROCS(0); n != leastParallel {
		t.Errorf("%d at once", n)
	}
}

// A limit of processor time counts where it is tighter than the processors, and is rounded up.
func TestParallel(t *testing.T) {
	for _, c := range []struct {
		processors int
		time       float64
		want       int
	}{{64, math.Inf(1), 64}, {64, 7.2, 8}, {64, 1.5, leastParallel}, {2, math.Inf(1), leastParallel}, {4, 64, 4}} {
		if got := parallel(c.processors, c.time); got != c.want {
			t.Errorf("%d processors, time of %v: %d at once, want %d", c.processors, c.time, got, c.want)
		}
	}
}
