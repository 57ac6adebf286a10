// SPDX-License-Identifier: MIT

package scheduler

import (
	"slices"
	"time"
)

// preemptible is the last running job that is parked, and so makes no use of its slot; nil if
// there is none.
func (s *Scheduler) preemptible() *job {
	for _, j := range slices.Backward(s.running) {
		if j.parked() {
			return j
		}
	}
	return nil
}

// victim is the job to preempt so that j can go on: a parked one, else the last in order if that
// comes after j; nil if there is none.
func (s *Scheduler) victim(j *job) *job {
	if p := s.preemptible(); p != nil {
		return p
	}
	if last := s.running[len(s.running)-1]; j.before(last) {
		return last
	}
	return nil
}

// outwaited is how long a caller without a slot waits for one who has several.
const outwaited = time.Second

// giveWay preempts jobs so that a queued one has slots, which lacks nothing else and whose caller
// has waited and has none: the last ones, as urgent at most, of callers who keep as many slots as
// it gets. It reports false if there are too few, or not yet. The job has to start before others
// are looked at: one that was preempted may come before it in the queue.
func (s *Scheduler) giveWay(j *job, now time.Time) bool {
	has := map[string]int{}
	for _, r := range s.running {
		has[r.req.Caller] += len(r.branches)
	}
	if has[j.req.Caller] > 0 || j.req.Slot != nil || s.preemptible() != nil || s.hasSlots(j) || !s.fits(j) {
		return false
	}
	if until := j.queued.Add(outwaited); now.Before(until) {
		s.tickAt(until)
		return false
	}
	var giving []*job
	lacking := len(j.branches) - s.freeSlots()
	for _, r := range slices.Backward(s.running) {
		left := has[r.req.Caller] - len(r.branches)
		if lacking > 0 && r.req.Priority <= j.req.Priority && left >= len(j.branches) {
			has[r.req.Caller] = left
			lacking -= len(r.branches)
			giving = append(giving, r)
		}
	}
	if lacking > 0 {
		return false
	}
	for _, r := range giving {
		s.preempt(r)
	}
	return true
}

// makeRoom takes cells from a job: of a program's those of one branch, if there is any that this
// tick does not compute, else its slots.
func (s *Scheduler) makeRoom(j *job) bool {
	return j != nil && !j.parked() && s.shelve(j, nil) || s.preempt(j)
}

// preempt takes a job's slots and queues it again, ahead of all of its priority that came later.
// Its cells become evictable; those still there when it gets a slot again are reused. It reports
// false for nil.
func (s *Scheduler) preempt(j *job) bool {
	if j == nil {
		return false
	}
	for _, b := range j.branches {
		s.unplan(b)
		b.shelved = true
	}
	s.dropAllButOne(j)
	s.leave(j)
	j.queued = s.record.Start
	s.queue.push(j)
	s.record.Preempted++
	return true
}

// unplan takes a branch out of this tick's plan.
func (s *Scheduler) unplan(b *branch) {
	i := slices.Index(s.planned, b)
	if i < 0 {
		return
	}
	s.planned = slices.Delete(s.planned, i, i+1)
	s.reserved -= b.scheduled
	if i < s.decoding {
		s.decoding--
	}
}
