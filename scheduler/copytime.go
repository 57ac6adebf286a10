// SPDX-License-Identifier: MIT

package scheduler

import (
	"slices"
	"time"

	"github.com/penstock/penstock/scheduler/kvcache"
)

// longestCopy is how long a tick copies to or from the archive while answers are generated.
const longestCopy = time.Millisecond

// copyCheck is when a scheduler with nothing else to do looks again what has become of a copy.
const copyCheck = time.Millisecond

// copyTime is how long this tick may copy, where the one before computed for so long. A prefix takes the place of a prompt's
// computation, so it may take as long as a pass: the next token then comes half as soon, once or twice.
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
