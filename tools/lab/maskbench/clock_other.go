// SPDX-License-Identifier: MIT

//go:build !linux

package main

import (
	"errors"
	"time"
)

func processorClock() (func() time.Duration, error) {
	return nil, errors.New("-processor needs Linux")
}
