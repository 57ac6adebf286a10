// SPDX-License-Identifier: MIT

package scheduler

import (
	"slices"
	"sync"
	"time"
)

// ComputeLock lets several schedulers share one machine: one tick at a time plans and computes, in
// the order in which they are ready. Two passes at once would have more threads than there are
// cores, and at each step of its graph each would wait for threads that do not run.
//
// A slot that generates waits for the ticks of the others, too. So while a slot of any scheduler
// generates, their ticks share the target for the time between two tokens (machineShare.target).
type ComputeLock struct {
	held chan struct{} // full while a tick has its turn; those that wait to send are served in order

	mu   sync.Mutex
	work map[*machineShare]work // of the schedulers that have any
}

// NewComputeLock makes a lock for schedulers whose Config names them.
func NewComputeLock() *ComputeLock {
	return &ComputeLock{held: make(chan struct{}, 1), work: map[*machineShare]work{}}
}

// work is what a scheduler has to compute, as of its last tick.
type work struct {
	turn      time.Duration // how long that tick had the lock
	prefills  bool          // it had prompts to compute
	generates bool          // a slot waits for its next token
}

// machineShare is a scheduler's part in the lock. The zero value is for a scheduler that has the
// machine for itself.
type machineShare struct {
	lock *ComputeLock
	work work // that the others know of
}

// take waits until no other scheduler computes.
func (s *machineShare) take() {
	if s.lock != nil {
		s.lock.held <- struct{}{}
	}
}

// give lets the next scheduler compute.
func (s *machineShare) give() {
	if s.lock != nil {
		<-s.lock.held
	}
}

// note tells the others what this scheduler has to compute; nothing if w is zero.
func (s *machineShare) note(w work) {
	if s.lock == nil {
		return
	}
	s.lock.mu.Lock()
	defer s.lock.mu.Unlock()
	if s.work = w; w == (work{}) {
		delete(s.lock.work, s)
	} else {
		s.lock.work[s] = w
	}
}

// target is how long a tick may take so that all ticks between two tokens of a slot take no longer
// than itl: what others without prompts leave of it, divided among those with prompts. One that had
// none in its last tick has only what the others left, who do not know of its prompts yet.
// neighbours reports whether slots of others generate.
func (s *machineShare) target(itl time.Duration) (target time.Duration, neighbours bool) {
	if s.lock == nil {
		return itl, false
	}
	s.lock.mu.Lock()
	defer s.lock.mu.Unlock()
	left, divided, sharing := itl, itl, 1
	for other, w := range s.lock.work {
		if other == s {
			continue
		}
		neighbours = neighbours || w.generates
		if left -= w.turn; w.prefills {
			sharing++
		} else {
			divided -= w.turn
		}
	}
	if target = divided / time.Duration(sharing); !s.work.prefills {
		target = min(target, left)
	}
	return max(target, 0), neighbours
}

// noteWork tells other schedulers what this one has to compute after a turn that began at a time.
// One whose slots wait for their samplers goes on as before.
func (s *Scheduler) noteWork(began time.Time) {
	if s.machine.lock == nil {
		return
	}
	w := work{turn: s.config.Clock().Sub(began), prefills: len(s.prefilling) > 0,
		generates: slices.ContainsFunc(s.running, func(j *job) bool { return !j.parked() && j.generates() })}
	if s.record.Passes == 0 {
		w.turn = s.machine.work.turn
	}
	if !w.prefills && !w.generates {
		w = work{}
	}
	s.machine.note(w)
}
