// SPDX-License-Identifier: MIT

package scheduler

import (
	"sync"
	"time"

	"github.com/penstock/penstock/scheduler/estimator"
)

const (
	// The first request after a rest waits for others that are on their way, at most for a part of what its prompt takes, within bounds.
	gatherPart     = 4
	shortestGather = 4 * time.Millisecond
	longestGather  = 50 * time.Millisecond

	// When none is known to be on its way, it waits a moment for those of a burst that have not reached the host.
	settlePart    = 50
	longestSettle = time.Millisecond
)

// Expect tells that a request is on its way: it will be submitted, or not, before arrived is called. Requests that come at once then share
// their first pass. arrived may be called more than once.
func (s *Scheduler) Expect() (arrived func()) {
	s.inbox.expect(1)
	return sync.OnceFunc(func() { s.inbox.expect(-1) })
}

// gather waits a moment for requests on their way if no other has a slot yet. Without it the prompt of the first would be computed alone,
// and its answer would then wait at every tick in which one of the others' is. It reports whether time has passed.
func (s *Scheduler) gather() (waited bool) {
	if len(s.running) > 0 || len(s.queue.jobs) == 0 || !s.inbox.told() {
		return false
	}
	most, settle := s.gatherTimes()
	timer := time.NewTimer(most)
	defer timer.Stop()
	defer s.takeCommands()
	for {
		var settled <-chan time.Time
		if !s.inbox.expects() {
			settled = time.After(settle)
		}
		select {
		case <-s.inbox.wake:
		case <-settled:
			if !s.inbox.expects() {
				return true
			}
		case <-timer.C:
			return true
		}
		s.takeCommands()
	}
}

// gatherTimes is how long the first request waits for others at most, and when none is known to come. Making the others' prompts may take as
// many milliseconds as there are of them; where a pass takes hundreds, that is nothing beside the pass that it saves.
func (s *Scheduler) gatherTimes() (most, settle time.Duration) {
	waiting := 0
	for _, j := range s.queue.jobs {
		waiting += len(j.answer.Expected())
	}
	pass := s.estimator.Prefill(estimator.Pass{Tokens: min(waiting, s.limits.Batch)})
	return min(max(pass/gatherPart, shortestGather), longestGather), min(pass/settlePart, longestSettle)
}
