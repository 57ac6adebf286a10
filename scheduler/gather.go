// SPDX-License-Identifier: MIT

package scheduler

import (
	"sync"
	"time"

	"github.com/penstock/penstock/scheduler/estimator"
)

const (
	// The first request after a rest waits for others that are on their way, at most for a part of
	// what its prompt takes, within bounds.
	gatherPart     = 4
	shortestGather = 4 * time.Millisecond
	longestGather  = 50 * time.Millisecond

	// When none is known to be on its way, it waits a moment for those of a burst that have not
	// reached the host.
	settlePart    = 50
	longestSettle = time.Millisecond
)

// Expect tells that a request is on its way: it will be submitted, or not, before arrived is
// called. Requests that come at once then share their first pass. arrived may be called more than
// once.
func (s *Scheduler) Expect() (arrived func()) {
	s.inbox.expect(1)
	return sync.OnceFunc(func() { s.inbox.expect(-1) })
}

// gathering is how long the first request after a rest is held back for others on their way.
// Without it the prompt of the first would be computed alone, and its answer would then wait at
// every tick in which one of the others' is.
type gathering struct {
	began time.Time // when the first one came; zero: nobody is held back
	quiet time.Time // since when no other came, and none is expected; zero: one is
}

// gather begins to hold requests back with one that finds nothing to compute, and each new request
// makes the others wait a moment more.
func (s *Scheduler) gather(now time.Time) {
	if s.gathering.began.IsZero() && len(s.running) == 0 && s.nextToAdmit(now) == nil && s.inbox.told() {
		s.gathering.began = now
	}
	s.gathering.quiet = time.Time{}
}

// heldBack tells until when no request is admitted; zero: now they are.
func (s *Scheduler) heldBack(now time.Time) (until time.Time) {
	g := &s.gathering
	if g.began.IsZero() || len(s.queue.jobs) == 0 {
		*g = gathering{}
		return time.Time{}
	}
	most, settle := s.gatherTimes()
	until = g.began.Add(most)
	if s.inbox.expects() {
		g.quiet = time.Time{}
	} else {
		if g.quiet.IsZero() {
			g.quiet = now
		}
		if settled := g.quiet.Add(settle); settled.Before(until) {
			until = settled
		}
	}
	if now.Before(until) {
		return until
	}
	*g = gathering{}
	return time.Time{}
}

// gatherTimes is how long the first request waits for others at most, and when none is known to
// come. Making the others' prompts may take as many milliseconds as there are of them; where a
// pass takes hundreds, that is nothing beside the pass that it saves.
func (s *Scheduler) gatherTimes() (most, settle time.Duration) {
	waiting := 0
	for _, j := range s.queue.jobs {
		if !j.started { // else it was not held back, and its background sampler may be writing its tokens
			waiting += len(j.answer.Expected())
		}
	}
	pass := s.estimator.Prefill(estimator.Pass{Tokens: min(waiting, s.limits.Batch)})
	return min(max(pass/gatherPart, shortestGather), longestGather), min(pass/settlePart, longestSettle)
}
