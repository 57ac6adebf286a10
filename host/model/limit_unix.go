// SPDX-License-Identifier: MIT

//go:build unix

package model

import "syscall"

// limitProcess makes this process, a trial that may crash, leave no core file and allocate no more than bytes (0: no
// limit). If the system refuses, the trial goes on without.
func limitProcess(bytes uint64) {
	_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
	if bytes > 0 {
		_ = syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: bytes, Max: bytes})
	}
}
