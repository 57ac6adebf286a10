// SPDX-License-Identifier: MIT

package scheduler

import "time"

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
