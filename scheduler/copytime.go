// SPDX-License-Identifier: MIT

package scheduler

import (
	"slices"
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

// generates reports whether any slot generates.
func (s *Scheduler) generates() bool { return slices.ContainsFunc(s.running, (*job).generates) }

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
	each(s, s.order, func(_ int, j *job) {
		for _, b := range j.branches {
			if b.seq != nil { // else it has left its slot
				s.checkpointing -= s.cache.Checkpoint(b.seq, s.checkpointing)
			}
		}
	})
}
