// SPDX-License-Identifier: MIT

// Package spawn has a program be its own child process, for what may crash, hang or take too much
// memory.
//
// Such are trying a model file, compiling a plugin, and computing for another machine. A command
// line alone does not tell: programs that use Penstock as a library have arguments of their own. So
// the environment of a child names its command, too.
package spawn

import "os"

const variable = "PENSTOCK_CHILD"

// Mark is what the environment of a child for a command has.
func Mark(command string) string { return variable + "=" + command }

// Is reports whether this process is a child for a command.
func Is(command string) bool { return os.Getenv(variable) == command }

// Run carries a command out and ends the process, if it is a child for it. A program that starts
// such children begins with it.
func Run(command string, run func(args []string) int) {
	if Is(command) && len(os.Args) > 1 && os.Args[1] == command {
		os.Exit(run(os.Args[2:]))
	}
}
