// SPDX-License-Identifier: MIT

//go:build !race

package compile

import (
	"bytes"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// threadMemory is the address space of a thread's stack and of what the C library has for it.
const threadMemory = 16 << 20

// limitData has the kernel refuse this process more memory than it has now plus more bytes, with
// room for threads. It catches what is taken at once, before bounds.enforce looks again: the
// process then ends with Go's own error. If it fails, bounds.enforce remains.
func limitData(more uint64) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return
	}
	var kilobytes uint64
	_, after, _ := bytes.Cut(text, []byte("VmData:"))
	if _, err := fmt.Sscan(string(after[:min(32, len(after))]), &kilobytes); err != nil {
		return
	}
	most := kilobytes<<10 + more + uint64(4+2*runtime.GOMAXPROCS(0))*threadMemory
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_DATA, &l) == nil && most < l.Cur {
		l.Cur = most
		_ = unix.Setrlimit(unix.RLIMIT_DATA, &l)
	}
}
