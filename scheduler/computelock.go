// SPDX-License-Identifier: MIT

package scheduler

import "sync/atomic"

// ComputeLock lets several schedulers share one machine: their ticks compute one at a time, in the
// order in which they are ready. Two passes at once would have more threads than there are cores,
// and at each step of its graph each would wait for threads that do not run. While a slot of any
// scheduler generates, the ticks of all aim at their targets.
type ComputeLock struct {
	held       chan struct{} // full while a tick computes; those that wait to send are served in order
	generating atomic.Int32  // schedulers of which a slot generates
}

// NewComputeLock makes a lock for schedulers whose Config names them.
func NewComputeLock() *ComputeLock { return &ComputeLock{held: make(chan struct{}, 1)} }

// share is a scheduler's part in the lock; the zero value is that of one that has the machine for
// itself.
type share struct {
	lock       *ComputeLock
	generating bool
}

// take waits until no other scheduler computes.
func (s *share) take() {
	if s.lock != nil {
		s.lock.held <- struct{}{}
	}
}

// give lets the next scheduler compute.
func (s *share) give() {
	if s.lock != nil {
		<-s.lock.held
	}
}

// note tells the others whether a slot of this scheduler generates.
func (s *share) note(generating bool) {
	if s.lock == nil || s.generating == generating {
		return
	}
	s.generating = generating
	if generating {
		s.lock.generating.Add(1)
	} else {
		s.lock.generating.Add(-1)
	}
}

// othersGenerate reports whether a slot of another scheduler generates.
func (s *share) othersGenerate() bool {
	if s.lock == nil {
		return false
	}
	n := s.lock.generating.Load()
	if s.generating {
		n--
	}
	return n > 0
}
