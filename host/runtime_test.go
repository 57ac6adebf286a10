// SPDX-License-Identifier: MIT

package host

import (
	"math"
	"runtime"
	"runtime/debug"
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
		if got := parallelism(c.processors, c.time); got != c.want {
			t.Errorf("%d processors, time of %v: %d at once, want %d", c.processors, c.time, got, c.want)
		}
	}
}

// The heap stays near its limit though garbage is made all the time. Without one it grows to twice
// what is in use. 0 leaves what the environment has set.
func TestLimitMemory(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	kept := make([]byte, 64<<20)
	const limit = 96 << 20
	limitMemory(limit)
	limitMemory(0)
	if got := debug.SetMemoryLimit(-1); got != limit {
		t.Errorf("the limit is %d", got)
	}
	most := uint64(0)
	for range 200 {
		garbage = make([]byte, 1<<20)
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapAlloc)
	}
	if most > limit+16<<20 {
		t.Errorf("%d MiB were allocated at once", most>>20)
	}
	runtime.KeepAlive(kept)
}

var garbage []byte
