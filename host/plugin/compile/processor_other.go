// SPDX-License-Identifier: MIT

//go:build !unix

package compile

import "time"

var started = time.Now()

// processorTime is how long this process has been there, where the system tells no better.
func processorTime() time.Duration { return time.Since(started) }
