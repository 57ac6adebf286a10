// SPDX-License-Identifier: MIT

//go:build !linux

package main

import (
	"errors"
	"time"
)

// cpuOf knows no other process's time here.
func cpuOf(int) time.Duration { return 0 }

// instructions are not counted here.
type instructions struct{}

func (*instructions) open(int) error { return errors.ErrUnsupported }
func (*instructions) read() float64  { return 0 }

// residentOf is not known here.
func residentOf(int) (uint64, error) { return 0, errors.ErrUnsupported }
