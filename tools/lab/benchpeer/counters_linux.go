// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// cpuOf is the processor time of all threads that a process has or had; 0 if there is none of that
// number.
func cpuOf(pid int) time.Duration {
	var at unix.Timespec
	// The number of a process's clock contains that of the process (clock_getcpuclockid(3)); 2 is
	// the scheduler's time, in nanoseconds.
	if err := unix.ClockGettime(int32(^pid)<<3|2, &at); err != nil {
		return 0
	}
	return time.Duration(at.Nano())
}

// instructions counts those of a process that run outside the kernel. Virtual machines often have
// no such counters.
type instructions struct {
	files []int
}

// hardware is the event that is counted; a test counts one that every machine has.
var hardware = unix.PerfEventAttr{Type: unix.PERF_TYPE_HARDWARE, Config: unix.PERF_COUNT_HW_INSTRUCTIONS}

// open begins to count in all threads of a process and those that they start.
func (c *instructions) open(pid int) error { return c.count(pid, hardware) }

func (c *instructions) count(pid int, event unix.PerfEventAttr) error {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return err
	}
	event.Size = uint32(unsafe.Sizeof(event))
	event.Bits = unix.PerfBitInherit | unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv
	for _, thread := range threads {
		tid, err := strconv.Atoi(thread.Name())
		if err != nil {
			continue
		}
		file, err := unix.PerfEventOpen(&event, tid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if errors.Is(err, unix.ESRCH) { // it has just ended
			continue
		}
		if err != nil {
			c.read()
			return fmt.Errorf("perf_event_open: %w", err)
		}
		c.files = append(c.files, file)
	}
	return nil
}

// read returns how many there were and stops counting; 0 if they are not counted.
func (c *instructions) read() float64 {
	sum := 0.0
	for _, file := range c.files {
		var n [8]byte
		if got, err := unix.Read(file, n[:]); err == nil && got == len(n) {
			sum += float64(binary.NativeEndian.Uint64(n[:]))
		}
		_ = unix.Close(file) // only read
	}
	c.files = nil
	return sum
}

// residentOf is how many bytes of a process are in RAM, those of files that it has mapped included.
func residentOf(pid int) (uint64, error) {
	path := fmt.Sprintf("/proc/%d/smaps_rollup", pid)
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	_, line, _ := bytes.Cut(text, []byte("\nRss:"))
	var kib uint64
	if _, err := fmt.Sscanf(string(line[:min(32, len(line))]), "%d kB", &kib); err != nil {
		return 0, fmt.Errorf("%s has no number of resident pages: %w", path, err)
	}
	return kib << 10, nil
}
