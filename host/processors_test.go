// SPDX-License-Identifier: MIT

package host

import (
	"runtime"
	"testing"
)

// A guest, a forward pass and whoever sends tokens can run at once, however few processors there are; somebody's own choice is kept.
func TestHost_RunsThreeAtOnce(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	t.Setenv("GOMAXPROCS", "1")
	raiseParallelism()
	if n := runtime.GOMAXPROCS(0); n != 1 {
		t.Errorf("%d at once where 1 was asked for", n)
	}
	t.Setenv("GOMAXPROCS", "")
	raiseParallelism()
	if n := runtime.GOMAXPROCS(0); n != leastParallel {
		t.Errorf("%d at once", n)
	}
}
