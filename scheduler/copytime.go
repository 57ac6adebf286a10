// SPDX-License-Identifier: MIT

package scheduler

import (
	"slices"
	"time"

	"github.com/penstock/penstock/scheduler/kvcache"
)

// How long a tick copies at most: to or from the archive while answers are generated, and anything while none is.
const (
	longestCopy     = time.Millisecond
	longestIdleCopy = 10 * time.Millisecond
)

// copyCheck is how long a scheduler with nothing else to do waits before it looks at a copy again.
const copyCheck = time.Millisecond

// copyTime is how long this tick may copy. lastPasses is how long those of the last tick took. Copying a prefix saves computing it, so it
// may take as long as a pass: for a tick or two each token takes twice as long.
func (s *Scheduler) copyTime(lastPasses time.Duration) kvcache.CopyTime {
	t := kvcache.CopyTime{Archive: longestIdleCopy, Prefix: longestIdleCopy, Ahead: longestIdleCopy}
	if len(s.running) > 0 {
		t.Ahead = longestCopy
	}
	if slices.ContainsFunc(s.running, func(j *job) bool { return j.worker.Busy() || j.generating() }) { // a busy one's state is its own
		t.Archive, t.Prefix = longestCopy, max(longestCopy, lastPasses)
	}
	return t
}

const (
	checkpointShare   = 8                     // taking checkpoints takes at most one of so many parts of the time,
	longestCheckpoint = 10 * time.Millisecond // and at once at most so long,
	checkpointPasses  = 4                     // or, if that is more, one of so many parts of a tick's passes
)

// takeCheckpoints takes those checkpoints that are due, as far as there is time.
func (s *Scheduler) takeCheckpoints() {
	if !s.cache.TakesCheckpoints() {
		return
	}
	s.checkpointing = min(s.checkpointing+s.record.Forward/checkpointShare, max(longestCheckpoint, s.record.Forward/checkpointPasses))
	s.each(s.order, func(_ int, j *job) {
		if j.seq != nil { // else it has left its slot
			s.checkpointing -= s.cache.Checkpoint(j.seq, s.checkpointing)
		}
	})
}
