// SPDX-License-Identifier: MIT

package diskcache

import (
	"os"

	"golang.org/x/sys/unix"
)

const (
	niceWriter, niceReader = 19, 5
	ioprioWhoProcess       = 1
	ioprioIdle             = 3 << 13 // class of the kernel's include/uapi/linux/ioprio.h
)

// yieldToOthers has this thread give way to forward passes, and its disk to everybody else if
// nobody waits for it. What the system does not allow is left out.
func yieldToOthers(idle bool) {
	nice := niceReader
	if idle {
		nice = niceWriter
		_, _, _ = unix.Syscall(unix.SYS_IOPRIO_SET, ioprioWhoProcess, 0, ioprioIdle)
	}
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, nice)
}

// startFlush begins to write a part of a file to the disk.
func startFlush(f *os.File, from, n int64) {
	_ = unix.SyncFileRange(int(f.Fd()), from, n, unix.SYNC_FILE_RANGE_WRITE)
}

// dropFromPageCache has the page cache forget a part of a file, once it is on the disk.
func dropFromPageCache(f *os.File, from, n int64) {
	_ = unix.SyncFileRange(int(f.Fd()), from, n, unix.SYNC_FILE_RANGE_WAIT_BEFORE|unix.SYNC_FILE_RANGE_WRITE|unix.SYNC_FILE_RANGE_WAIT_AFTER)
	_ = unix.Fadvise(int(f.Fd()), from, n, unix.FADV_DONTNEED)
}
