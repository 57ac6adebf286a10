// SPDX-License-Identifier: MIT

package scheduler

import (
	"sync"
	"time"
)

// defaultGatherFor is how long the first request after a rest waits for others that are on their way.
const defaultGatherFor = 4 * time.Millisecond

// Expect tells that a request is on its way: it will be submitted, or not, before arrived is called. Requests that come at once then share
// their first pass. arrived may be called more than once.
func (s *Scheduler) Expect() (arrived func()) {
	s.inbox.expect(1)
	return sync.OnceFunc(func() { s.inbox.expect(-1) })
}

// gather waits a moment for requests on their way if no other has a slot yet. Without it the prompt of the first would be computed alone,
// and its answer would then wait at every tick in which one of the others' is.
func (s *Scheduler) gather() {
	if len(s.running) > 0 || len(s.queue.jobs) == 0 || !s.inbox.expects() {
		return
	}
	timer := time.NewTimer(s.gatherFor)
	defer timer.Stop()
	for s.inbox.expects() {
		select {
		case <-s.inbox.wake:
			s.takeCommands()
		case <-timer.C:
			return
		}
	}
	s.takeCommands()
}
