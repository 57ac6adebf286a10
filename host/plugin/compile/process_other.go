// SPDX-License-Identifier: MIT

//go:build !unix

package compile

import (
	"os/exec"
	"time"
)

// ownGroup and lowerPriority do nothing where priorities are set in other ways.
func ownGroup(*exec.Cmd) {}

func lowerPriority() {}

var started = time.Now()

// processorTime returns how long this process has run, where the system does not tell its processor
// time.
func processorTime() time.Duration { return time.Since(started) }
