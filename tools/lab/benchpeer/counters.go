// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// counted is what a turn took, beside what its clients saw. A figure is 0 where the system does not
// tell.
type counted struct {
	Seconds      float64 `json:"seconds"`
	CPU          float64 `json:"cpu_seconds"`  // processor time of the server
	Instructions float64 `json:"instructions"` // of the server, outside the kernel
	Others       float64 `json:"others"`       // share of the processors that other programs took
}

// counters count what a server takes from countersOf on.
type counters struct {
	pid          int
	begin        time.Time
	cpu, own     time.Duration
	busy, all    float64
	instructions instructions
}

// countersOf begins to count. The caller calls stop.
func countersOf(pid int) *counters {
	c := &counters{pid: pid, cpu: cpuOf(pid), own: cpuOf(os.Getpid())}
	_ = c.instructions.open(pid) // where the kernel has no counter, none are counted
	c.busy, c.all = machineTime()
	c.begin = time.Now()
	return c
}

func (c *counters) stop() counted {
	n := counted{Seconds: time.Since(c.begin).Seconds()}
	busy, all := machineTime()
	n.Instructions = c.instructions.read()
	cpu, own := cpuOf(c.pid)-c.cpu, cpuOf(os.Getpid())-c.own
	n.CPU = cpu.Seconds()
	if all > c.all {
		n.Others = max(0, (busy-c.busy-cpu.Seconds()-own.Seconds())/(all-c.all))
	}
	return n
}

// machineTime is how long all processors together have been busy, and how long they have been
// there, in seconds. Time that the hypervisor gave to other machines is busy. Both are 0 where
// there is no /proc/stat.
func machineTime() (busy, all float64) {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0
	}
	return parseMachineTime(string(data))
}

// parseMachineTime reads /proc/stat, which counts hundredths of seconds on all Linux systems.
func parseMachineTime(stat string) (busy, all float64) {
	line, _, _ := strings.Cut(stat, "\n")
	// cpu user nice system idle iowait irq softirq steal guest …; user contains guest.
	fields := strings.Fields(line)
	for i, field := range fields[min(1, len(fields)):min(9, len(fields))] {
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return 0, 0
		}
		all += n / 100
		if i != 3 && i != 4 { // idle, and idle while a disk works
			busy += n / 100
		}
	}
	return busy, all
}

// countersSay is a sentence on what can be counted here.
func countersSay() string {
	var c instructions
	if err := c.open(os.Getpid()); err != nil {
		return fmt.Sprintf("Instructions are not counted: %v.", err)
	}
	c.read()
	return "Instructions are counted."
}
