// SPDX-License-Identifier: MIT

package scheduler

import (
	"time"

	"github.com/penstock/penstock/scheduler/kvcache"
)

// How long a tick copies at most: to or from the archive while answers are generated, what
// requests wait for while none is, and what none waits for.
const (
	longestCopy     = time.Millisecond
	longestIdleCopy = 30 * time.Millisecond
	longestAhead    = 10 * time.Millisecond
)

// copyTime is how long this tick may copy. lastPasses is how long those of the last tick took.
// Copying a prefix saves computing it, so it may take as long as a pass: for a tick or two each
// token takes twice as long.
func (s *Scheduler) copyTime(lastPasses time.Duration) kvcache.CopyTime {
	t := kvcache.CopyTime{Archive: longestIdleCopy, Prefix: longestIdleCopy, Ahead: longestAhead, Here: true}
	if len(s.running) > 0 {
		t.Ahead = longestCopy
	}
	if s.generates() {
		t.Archive, t.Prefix, t.Here = longestCopy, max(longestCopy, lastPasses), false
	}
	return t
}
