// SPDX-License-Identifier: MIT

package scheduler

import (
	"cmp"
	"slices"
)

// turns has callers take turns for slots: one that asks for little does not wait behind all that
// another has asked for before.
type turns struct {
	served map[string]uint64 // the number of the last admission of a caller's
	last   uint64

	sorted, same []turn // memory
}

// turn is a queued job with what gives it its place among others of its priority.
type turn struct {
	job   *job
	round int // how many of its caller's are in slots, or before it in the queue
}

// mostServed bounds the callers that are remembered.
const mostServed = 1024

// note notes that a job of a caller was admitted.
func (t *turns) note(caller string) {
	if t.served == nil {
		t.served = map[string]uint64{}
	}
	t.last++
	t.served[caller] = t.last
	if len(t.served) > mostServed {
		for c, n := range t.served {
			if t.last-n >= mostServed/2 {
				delete(t.served, c)
			}
		}
	}
}

// order is the queued jobs in the order in which they are to be admitted. Jobs of one priority
// exchange places: those whose caller has the fewest slots, or jobs before them, come first, and
// among these that whose caller was served the longest ago. Those of one caller stay in order.
func (t *turns) order(queued, running []*job) []*job {
	if !slices.ContainsFunc(queued, func(j *job) bool { return j.req.Caller != queued[0].req.Caller }) {
		return queued
	}
	ahead := map[string]int{}
	for _, j := range running {
		ahead[j.req.Caller] += len(j.branches)
	}
	t.sorted = t.sorted[:0]
	for _, j := range queued {
		t.sorted = append(t.sorted, turn{j, ahead[j.req.Caller]})
		ahead[j.req.Caller] += len(j.branches)
	}
	out := make([]*job, len(queued))
	for i, first := range queued {
		if out[i] != nil {
			continue
		}
		t.fill(out, first.req.Priority)
	}
	return out
}

// fill gives the jobs of a priority the places that these have.
func (t *turns) fill(out []*job, priority int) {
	t.same = t.same[:0]
	for _, w := range t.sorted {
		if w.job.req.Priority == priority {
			t.same = append(t.same, w)
		}
	}
	slices.SortStableFunc(t.same, func(a, b turn) int {
		return cmp.Or(cmp.Compare(a.round, b.round), cmp.Compare(t.served[a.job.req.Caller], t.served[b.job.req.Caller]))
	})
	next := 0
	for i, w := range t.sorted {
		if w.job.req.Priority == priority {
			out[i] = t.same[next].job
			next++
		}
	}
}
