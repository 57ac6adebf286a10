// SPDX-License-Identifier: MIT

package host

import (
	"os"
	"runtime"
)

// leastParallel is how many goroutines must be able to run at once: one of a guest, which nothing preempts, one that waits for a
// forward pass, and one that sends what was generated. With fewer, Go looks at the network only every ten milliseconds while a
// guest computes.
const leastParallel = 3

// raiseParallelism lets Go run leastParallel goroutines at once if the machine has fewer processors, unless the environment says how
// many. The operating system preempts guests; Go cannot.
func raiseParallelism() {
	if os.Getenv("GOMAXPROCS") == "" && runtime.GOMAXPROCS(0) < leastParallel {
		runtime.GOMAXPROCS(leastParallel)
	}
}
