// SPDX-License-Identifier: MIT

//go:build unix

package model

import (
	"os/exec"
	"syscall"
)

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
