// SPDX-License-Identifier: MIT

package scheduler

import (
	"cmp"
	"slices"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/estimator"
)

// plan chooses the jobs of this tick and how many tokens each computes: a decode token for every generating slot first,
// then chunks of prompts.
func (s *Scheduler) plan() {
	s.planned, s.prefilling, s.reserved, s.awaitsCopy = s.planned[:0], s.prefilling[:0], 0, false
	s.order = append(s.order[:0], s.running...) // preempting changes s.running
	waiting := 0
	for _, j := range s.order {
		j.scheduled, j.row = 0, -1
		switch {
		case j.seq == nil: // preempted for one before it
		case !j.ready():
			if j.stalled && j.req.Overflow == CancelSlow {
				s.end(j, End{Reason: answer.ReasonCancelled, Err: ErrSlowReader})
			}
		case j.generating():
			if s.secure(j, 1) == 1 {
				j.scheduled = 1
				s.planned = append(s.planned, j)
			}
		default:
			s.prefilling = append(s.prefilling, j)
			waiting += j.pending()
		}
	}
	s.decoding = len(s.planned)
	if n := s.shorts(); !s.express && n > 0 && n < len(s.prefilling) {
		s.express = true
		waiting = s.keepShort()
	} else {
		s.express = false
	}
	if waiting > 0 {
		s.prefill(s.prefillBudget(waiting))
	}
	s.record.Decode = s.decoding
}

// express is how short a prompt, or what is left of it, goes before longer ones. They have at least every other tick.
const express = 64

// shorts is how many of the prompts are short.
func (s *Scheduler) shorts() int {
	n := 0
	for _, j := range s.prefilling {
		if j.pending() <= express {
			n++
		}
	}
	return n
}

// keepShort leaves only the short prompts in this tick and returns their tokens.
func (s *Scheduler) keepShort() int {
	waiting := 0
	s.prefilling = slices.DeleteFunc(s.prefilling, func(j *job) bool { return j.pending() > express })
	for _, j := range s.prefilling {
		waiting += j.pending()
	}
	return waiting
}

// prefillBudget is how many prompt tokens this tick computes.
func (s *Scheduler) prefillBudget(waiting int) int {
	load := &s.load
	*load = estimator.Load{Decode: passOf(s.planned), Waiting: waiting, Room: s.limits.Batch - s.decoding, Target: s.config.ITLTarget,
		Share: s.config.PrefillShare, Estimator: s.estimator}
	for _, j := range s.prefilling {
		load.Depth += j.seq.Len() / len(s.prefilling)
	}
	if n := s.shorts(); n == len(s.prefilling) { // else longer ones would take what those are owed, and they have every other tick
		load.Short = n
	}
	n := 0
	if s.decoding > 0 {
		n = s.config.Strategy.Prefill(load)
	} else {
		n = load.Fast()
	}
	return min(max(n, 1), load.Room, waiting)
}

// passOf is what a forward pass over the scheduled tokens of some jobs computes.
func passOf(jobs []*job) estimator.Pass {
	var p estimator.Pass
	for _, j := range jobs {
		p.Tokens += j.scheduled
		p.Cells += j.scheduled * (j.seq.Len() + j.scheduled/2)
	}
	return p
}

// prefill shares the budget among the prefilling jobs by deficit round robin: each is owed its part of every tick's
// budget, by weight, and the one that is owed most goes first. It takes all it can: a chunk of one prompt is computed
// faster than two halves of two.
func (s *Scheduler) prefill(budget int) {
	weights := 0.0
	for _, j := range s.prefilling {
		weights += j.weight()
	}
	for _, j := range s.prefilling {
		j.deficit = min(j.deficit+float64(budget)*j.weight()/weights, float64(2*s.limits.Batch))
	}
	slices.SortStableFunc(s.prefilling, func(a, b *job) int { return cmp.Compare(b.deficit, a.deficit) })
	left := budget
	for _, j := range s.prefilling {
		if j.seq == nil { // preempted for one before it
			continue
		}
		j.scheduled = s.secure(j, min(j.pending(), left))
		if j.scheduled == 0 {
			continue
		}
		left -= j.scheduled
		j.deficit = max(j.deficit-float64(j.scheduled), -float64(s.limits.Batch))
		if j.scheduled == j.pending() {
			j.deficit = 0
		}
		s.planned = append(s.planned, j)
		s.record.Prefill += j.scheduled
	}
}

// weight makes a job of priority p+1 prefill twice as fast as one of priority p. Nobody gets nothing.
func (j *job) weight() float64 {
	return float64(int(1) << (min(max(j.req.Priority, -4), 4) + 4))
}

// secure finds KV cells for n tokens of a job, evicting idle sequences, then preempting jobs that come after it. It
// returns for how many there is room, and reserves those for this tick.
func (s *Scheduler) secure(j *job, n int) int {
	for n > 0 && !s.cache.Reserve(s.reserved+n) {
		s.awaitsCopy = s.awaitsCopy || s.cache.Copying()
		if s.cache.Copying() || !s.preempt(s.victim(j)) {
			n = max(s.cache.Free()-s.reserved, 0)
		}
	}
	s.reserved += n
	return n
}
