// SPDX-License-Identifier: MIT

//go:build !unix

package compile

import "os/exec"

// ownGroup and lowerPriority do nothing where priorities are set in other ways.
func ownGroup(*exec.Cmd) {}

func lowerPriority(int) {}
