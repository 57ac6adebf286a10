// SPDX-License-Identifier: MIT

//go:build unix

package model

import (
	"os/exec"
	"syscall"
)

// limitProcess makes this process, a trial that may crash, leave no core file and allocate no more
// than bytes (0: no limit). If the system refuses, the trial goes on without.
func limitProcess(bytes uint64) {
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
	if bytes > 0 {
		_ = syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: bytes, Max: bytes})
	}
}

// processLimits are how many bytes this process may still allocate by its own limits (ulimit -d
// and -v), where it has any. Processes that it starts have the same limits, each for itself.
func processLimits() (left []uint64) {
	for _, l := range []struct {
		resource int
		used     string
	}{{syscall.RLIMIT_DATA, "VmData:"}, {syscall.RLIMIT_AS, "VmSize:"}} {
		var limit syscall.Rlimit
		if err := syscall.Getrlimit(l.resource, &limit); err != nil || limit.Cur >= unlimited {
			continue
		}
		left = append(left, limit.Cur-min(limit.Cur, meminfo("/proc/self/status", l.used)))
	}
	return left
}

// unlimited is less than what systems call infinite, and more than any machine has.
const unlimited = 1 << 62

// niceness of a trial beside models that answer requests.
const niceness = 10

// ownGroup gives a child a process group of its own, whose priority can be lowered: for the
// process, Linux would change one thread only.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// lowerPriority lowers the priority of a child. If it fails, the trial takes time from the streams
// and all else works.
func lowerPriority(cmd *exec.Cmd) {
	_ = syscall.Setpriority(syscall.PRIO_PGRP, cmd.Process.Pid, niceness)
}
