// SPDX-License-Identifier: MIT

//go:build unix

package compile

import (
	"os/exec"
	"syscall"
	"time"
)

// niceness of a child that compiles. Beside a process that never waits the child gets a tenth of a
// core.
const niceness = 10

// ownGroup gives a child a process group of its own, whose priority it can lower. It stays in its
// parent's session: a kernel that divides the cores among sessions first would give a session of
// its own as much as all streams.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// lowerPriority lowers the priority of this process's group, which is all of its threads: for the
// process, Linux would change one thread only. If it fails, compiling takes time from the streams
// and all else works.
func lowerPriority() { _ = syscall.Setpriority(syscall.PRIO_PGRP, 0, niceness) }

// processorTime returns the time that this process has used of all processors.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it fails for a wrong pointer only
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
