// SPDX-License-Identifier: MIT

package governor

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// ticksPerSecond are those of /proc/stat, whatever the kernel's own are.
const ticksPerSecond = 100

// idleCores returns a function that tells how many of the processors that this process may use
// were idle since it was called last, on average; -1: it is called for the first time, or the
// system does not say.
func idleCores() func() float64 {
	var at time.Time
	ticks := int64(-1)
	return func() float64 {
		var allowed unix.CPUSet
		stat, err := os.ReadFile("/proc/stat")
		if err != nil || unix.SchedGetaffinity(0, &allowed) != nil {
			return -1
		}
		priority, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
		ordinary := err == nil && priority >= 20 // the system call gives 20 less the nice value
		now, before := idleTicks(string(stat), ordinary, allowed.IsSet), ticks
		since := time.Since(at).Seconds()
		ticks, at = now, time.Now()
		if now < 0 || before < 0 || since <= 0 {
			return -1
		}
		return float64(max(0, now-before)) / ticksPerSecond / since
	}
}
