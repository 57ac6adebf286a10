// SPDX-License-Identifier: MIT

package scheduler

import (
	"slices"
)

// leave takes a job out of its slot; its cells stay as prefix cache.
func (s *Scheduler) leave(j *job) {
	s.cache.Release(j.seq)
	s.slots[j.slot] = nil
	s.running = slices.DeleteFunc(s.running, func(r *job) bool { return r == j })
	j.seq, j.slot, j.row, j.scheduled = nil, -1, -1, 0
}

// parked is a running job that could not go on now: paused, or its reader does not keep up; nil if there is none.
func (s *Scheduler) parked() *job {
	for _, j := range slices.Backward(s.running) {
		if j.paused || j.stalled {
			return j
		}
	}
	return nil
}

// victim is the job to preempt so that j can go on: a parked one, else the last in order if that comes after j; nil if
// there is none.
func (s *Scheduler) victim(j *job) *job {
	if p := s.parked(); p != nil {
		return p
	}
	if last := s.running[len(s.running)-1]; j.before(last) {
		return last
	}
	return nil
}

// preempt takes the slot and the cells of a job. It waits in the queue, before all that came later, and goes on where it
// was; what of its cells nobody needed is still there then. It reports false for nil.
func (s *Scheduler) preempt(j *job) bool {
	if j == nil {
		return false
	}
	if i := slices.Index(s.planned, j); i >= 0 {
		s.planned = slices.Delete(s.planned, i, i+1)
		s.reserved -= j.scheduled
		if i < s.decoding {
			s.decoding--
		}
	}
	s.leave(j)
	s.queue.push(j)
	s.record.Preempted++
	return true
}
