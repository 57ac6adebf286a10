// SPDX-License-Identifier: MIT

//go:build !unix

package model

import "os/exec"

// limitProcess does nothing: this system has no such limits.
func limitProcess(uint64) {}

// processLimits is nothing for the same reason.
func processLimits() []uint64 { return nil }

func ownGroup(*exec.Cmd) {}

func lowerPriority(*exec.Cmd) {}
