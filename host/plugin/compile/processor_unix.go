// SPDX-License-Identifier: MIT

//go:build unix

package compile

import (
	"syscall"
	"time"
)

// processorTime is what this process has used of all processors.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it fails for a wrong pointer only
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
