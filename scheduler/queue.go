// SPDX-License-Identifier: MIT

package scheduler

import "slices"

// queue holds the jobs that wait for a slot: higher priority first, equal ones in order of arrival. A preempted job keeps
// its arrival and so comes back before all that came later.
type queue struct {
	jobs []*job
}

// before is the order in which jobs are served.
func (j *job) before(k *job) bool {
	if j.req.Priority != k.req.Priority {
		return j.req.Priority > k.req.Priority
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
	i, _ := slices.BinarySearchFunc(q.jobs, j, compareJobs)
	q.jobs = slices.Insert(q.jobs, i, j)
}

func (q *queue) remove(j *job) {
	if i := slices.Index(q.jobs, j); i >= 0 {
		q.jobs = slices.Delete(q.jobs, i, i+1)
	}
}
