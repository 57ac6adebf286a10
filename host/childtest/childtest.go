// SPDX-License-Identifier: MIT

// Package childtest has a test program be its own child process, as Penstock is by its hidden
// commands.
package childtest

import "os"

// Run carries a command out and ends the process if the test program was started with it. A
// TestMain begins with it.
func Run(command string, run func(args []string) int) {
	if len(os.Args) > 1 && os.Args[1] == command {
		os.Exit(run(os.Args[2:]))
	}
}
