// SPDX-License-Identifier: MIT

//go:build !unix

package model

import "os/exec"

func ownGroup(*exec.Cmd) {}

func lowerPriority(*exec.Cmd) {}
