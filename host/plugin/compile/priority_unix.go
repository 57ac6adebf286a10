// SPDX-License-Identifier: MIT

//go:build unix

package compile

import (
	"os/exec"
	"syscall"
)

// niceness of a child that compiles: a tenth of a core beside one who never waits, and whole cores beside none.
const niceness = 10

// ownGroup gives a child a process group of its own, whose priority it can lower. It stays in the session: where the scheduler
// shares the cores among sessions first, in one of its own it would have as much as all streams.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// lowerPriority lowers the priority of all of this process's threads, which are the process group. For one thread alone, Linux would
// leave those as they are that Go has started. Where it fails, compiling is as important as streaming, and nothing else is lost.
func lowerPriority() { _ = syscall.Setpriority(syscall.PRIO_PGRP, 0, niceness) }
