// SPDX-License-Identifier: MIT

package main

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Many machines have no counter of instructions. One of time, which the kernel keeps itself, is read in
// the same way.
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
