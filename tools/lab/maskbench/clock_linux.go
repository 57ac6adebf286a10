// SPDX-License-Identifier: MIT

package main

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// processorClock is the processor time of this goroutine's thread from now on, which other programs
// do not change.
func processorClock() (func() time.Duration, error) {
	runtime.LockOSThread()
	var t unix.Timespec
	return func() time.Duration {
		if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
			panic(err) // it worked at the beginning
		}
		return time.Duration(t.Nano())
	}, unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
}
