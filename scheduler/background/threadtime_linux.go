// SPDX-License-Identifier: MIT

package background

import (
	"syscall"
	"time"
	"unsafe"
)

// clockThread is Linux's CLOCK_THREAD_CPUTIME_ID.
const clockThread = 3

// ThreadTime is the processor time that the calling thread has used: what other work on the
// machine takes is not in it. A difference means something only between calls on one thread.
func ThreadTime() time.Duration {
	var t syscall.Timespec
	// It cannot fail: the clock exists since Linux 2.6.12.
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockThread, uintptr(unsafe.Pointer(&t)), 0)
	return time.Duration(t.Nano())
}

// ThreadID tells the calling thread from others that are there.
func ThreadID() int { return syscall.Gettid() }
