// SPDX-License-Identifier: MIT

package host

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/penstock/penstock/native/cgroup"
)

// leastParallel is how many goroutines must be able to run at once: one of a guest, which nothing
// preempts, one that waits for a forward pass, and one that sends what was generated. With fewer,
// Go looks at the network only every ten milliseconds while a guest computes.
const leastParallel = 3

// chooseParallelism lets Go run as many goroutines at once as this process may use processors, at
// least leastParallel, unless the environment says how many. The operating system preempts guests;
// Go cannot. Go itself knows of the processors, and of the limit of the innermost control group
// alone.
func chooseParallelism() {
	if os.Getenv("GOMAXPROCS") != "" {
		return
	}
	if n := parallel(runtime.GOMAXPROCS(0), cgroup.Processors()); n != runtime.GOMAXPROCS(0) {
		runtime.GOMAXPROCS(n)
	}
}

// parallel is how many goroutines may run at once where Go would have had others, and there is so
// much processor time. A part of a processor counts as one: goroutines seldom compute all the
// time.
func parallel(others int, processors float64) int {
	return max(leastParallel, int(min(float64(others), math.Ceil(processors))))
}

// limitMemory has Go collect garbage more often once it manages so many bytes; 0 leaves the limit
// as the environment has set it. The limit is a soft one: what is in use stays.
func limitMemory(bytes int64) {
	if bytes > 0 {
		debug.SetMemoryLimit(bytes)
	}
}
