// SPDX-License-Identifier: MIT

//go:build !linux

package background

import "time"

var processStart = time.Now()

// ThreadTime is the time since the process began: there is no portable way to tell what a thread
// has used. On a busy machine it is more, and stages rest longer than they would have to.
func ThreadTime() time.Duration { return time.Since(processStart) }

// ThreadID is the same for all threads, as their time is.
func ThreadID() int { return 0 }
