// SPDX-License-Identifier: MIT

package scheduler

import (
	"slices"
	"time"
)

// queue holds the jobs that wait for a slot in the order they are served. A preempted job keeps
// its place in that order, and so comes back before all that came later.
type queue struct {
	jobs     []*job
	deadline time.Time // of all jobs, those in slots included, none is earlier; that of one that has ended costs a tick. Zero: none has one
}

// place is a job's place in the queue.
type place struct {
	arrival          uint64    // counts requests
	effectiveArrival time.Time // arrival time, made earlier by its priority
	queued           time.Time // when it came, or lost its slots
	leader           *branch   // computes a prefix of this one's prompt, which waits for that
	sharedLen        int       // how many tokens that prefix has
}

// aging is how much earlier a request counts as having arrived for each step of its priority. So
// it goes before those of lower priority that came shortly before it, and none waits forever: ten
// seconds of waiting make up for one step.
const aging = 10 * time.Second

// overtaken is how long others may overtake a job that waits for more slots than are free.
const overtaken = aging

// arrive gives a job its place in the order.
func (j *job) arrive(number uint64, now time.Time) {
	j.arrival = number
	j.effectiveArrival = now.Add(-time.Duration(j.req.Priority) * aging)
	j.queued = now
}

// before is the order in which jobs are served: smallest effectiveArrival first, equal ones in
// order of arrival.
func (j *job) before(k *job) bool {
	if !j.effectiveArrival.Equal(k.effectiveArrival) {
		return j.effectiveArrival.Before(k.effectiveArrival)
	}
	return j.arrival < k.arrival
}

func compareJobs(a, b *job) int {
	if a.before(b) {
		return -1
	}
	return 1
}

func (q *queue) push(j *job) {
	q.note(j.req.Deadline)
	i, _ := slices.BinarySearchFunc(q.jobs, j, compareJobs)
	q.jobs = slices.Insert(q.jobs, i, j)
}

// note takes in the deadline of a job.
func (q *queue) note(deadline time.Time) {
	if !deadline.IsZero() && (q.deadline.IsZero() || deadline.Before(q.deadline)) {
		q.deadline = deadline
	}
}

func (q *queue) remove(j *job) {
	if i := slices.Index(q.jobs, j); i >= 0 {
		q.jobs = slices.Delete(q.jobs, i, i+1)
	}
}
