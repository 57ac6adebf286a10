// SPDX-License-Identifier: MIT

package scheduler

import (
	"slices"
	"time"

	"github.com/penstock/penstock/scheduler/kvcache"
)

// longestCopy is how long a tick copies to or from the archive while answers are generated.
const longestCopy = time.Millisecond

// copyCheck is how long a scheduler with nothing else to do waits before it looks at a copy again.
const copyCheck = time.Millisecond

// copyTime is how long this tick may copy if the last one computed for so long. A copied prefix need not be computed, so it may take
// as long as a pass: once or twice, the next token then takes twice as long.
func (s *Scheduler) copyTime(computed time.Duration) kvcache.CopyTime {
	t := kvcache.CopyTime{Archive: longestAdmission, Prefix: longestAdmission, Ahead: longestAdmission}
	if len(s.running) > 0 {
		t.Ahead = longestCopy
	}
	if slices.ContainsFunc(s.running, func(j *job) bool { return j.worker.Busy() || j.generating() }) { // a busy one's state is its own
		t.Archive, t.Prefix = longestCopy, max(longestCopy, computed)
	}
	return t
}
