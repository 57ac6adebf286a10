// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// Many machines have no counter of instructions. One of time, which the kernel keeps itself, is
// read in the same way.
func TestInstructions_CountsAllThreads(t *testing.T) {
	var c instructions
	if err := c.count(os.Getpid(), unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_TASK_CLOCK}); err != nil {
		t.Skipf("this system allows no counters: %v", err)
	}
	sum := 0
	for i := range 1 << 20 {
		sum += i
	}
	if len(c.files) < 2 {
		t.Errorf("%d threads are counted; Go has more", len(c.files))
	}
	if n := c.read(); n <= 0 || len(c.files) != 0 {
		t.Errorf("%v, and %d files are open", n, len(c.files))
	}
}

func TestCPUOf_NoProcess(t *testing.T) {
	const beyond = 1 << 22 // Linux gives no process this number
	if got := cpuOf(beyond); got != 0 {
		t.Errorf("a process that does not exist took %v", got)
	}
}

func TestResidentOf(t *testing.T) {
	held := make([]byte, 32<<20)
	for i := range held {
		held[i] = 1
	}
	if got, err := residentOf(os.Getpid()); err != nil || got < uint64(len(held)) {
		t.Errorf("%d bytes of a process that has more than %d are in RAM: %v", got, len(held), err)
	}
	runtime.KeepAlive(held)
	if _, err := residentOf(1 << 22); err == nil {
		t.Error("a process that does not exist has memory")
	}
}
