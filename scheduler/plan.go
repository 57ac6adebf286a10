// SPDX-License-Identifier: MIT

package scheduler

import "time"

// Load is what a strategy decides on.
type Load struct {
	Decode  int // decode tokens in this tick, one for each generating slot
	Waiting int // prompt tokens waiting in all slots
	Room    int // tokens the pass can carry besides the decode tokens

	Target time.Duration // Config.ITLTarget
	Share  float64       // Config.PrefillShare

	costs *costs
}

// Predict estimates how long a pass of n tokens takes.
func (l *Load) Predict(n int) time.Duration { return l.costs.predict(n) }

// Most is the largest number of prompt tokens that can go along with the decode tokens within a time.
func (l *Load) Most(within time.Duration) int {
	return l.costs.most(l.Decode, min(l.Room, l.Waiting), within)
}

// Strategy decides how many prompt tokens a tick carries beside the decode tokens of generating slots. It is asked only
// when there are both. The answer is cut to what waits and fits, and is at least 1.
type Strategy interface {
	Prefill(l *Load) int
}

// DecodeMaximal keeps a tick within the target, but gives prompts their share of its time even if that exceeds it.
type DecodeMaximal struct{}

// Prefill implements Strategy.
func (DecodeMaximal) Prefill(l *Load) int {
	alone := float64(l.Predict(l.Decode))
	return max(l.Most(l.Target), l.Most(time.Duration(alone/(1-l.Share))))
}

// Balanced lets prompts have as much of a tick's time as decoding, or what the target allows if that is more.
type Balanced struct{}

// Prefill implements Strategy.
func (Balanced) Prefill(l *Load) int {
	return max(l.Most(l.Target), l.Most(2*l.Predict(l.Decode)))
}

// PrefillPriority computes prompts as fast as it can: the shortest time to first token, at the expense of everyone else.
type PrefillPriority struct{}

// Prefill implements Strategy.
func (PrefillPriority) Prefill(l *Load) int { return l.Room }

// plan chooses the jobs of this tick and how many tokens each computes: a decode token for every generating slot first,
// then chunks of prompts.
func (s *Scheduler) plan() {
	s.planned, s.prefilling = s.planned[:0], s.prefilling[:0]
	s.order = append(s.order[:0], s.running...) // preempting changes s.running
	waiting := 0
	for _, j := range s.order {
		j.scheduled, j.row = 0, -1
		switch {
		case j.seq == nil: // preempted for one before it
		case !j.ready():
			if j.stalled && j.req.Overflow == CancelSlow {
				s.end(j, End{Reason: ReasonCancelled, Err: ErrSlowReader})
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
	s.record.Decode = len(s.planned)
	if waiting > 0 {
		s.prefill(s.prefillBudget(len(s.planned), waiting))
	}
}

// prefillBudget is how many prompt tokens this tick computes.
func (s *Scheduler) prefillBudget(decode, waiting int) int {
	load := &s.load
	*load = Load{Decode: decode, Waiting: waiting, Room: s.limits.Batch - decode,
		Target: s.config.ITLTarget, Share: s.config.PrefillShare, costs: s.costs}
	n := 0
	if decode > 0 {
		n = s.config.Strategy.Prefill(load)
	} else {
		n = max(load.Most(s.config.PrefillTick), leastPrefill)
	}
	return min(max(n, 1), load.Room, waiting)
}

// leastPrefill is the smallest chunk worth a pass of its own: below it the weights are read for too few tokens.
const leastPrefill = 64

// prefill shares the budget among the prefilling jobs by deficit round robin: each is owed its part of every tick's
// budget, by weight; what one cannot use goes to the others in turn. So a short prompt never waits behind a long one.
func (s *Scheduler) prefill(budget int) {
	weights := 0.0
	for _, j := range s.prefilling {
		weights += j.weight()
	}
	left := budget
	for _, j := range s.prefilling {
		j.deficit = min(j.deficit+float64(budget)*j.weight()/weights, float64(2*s.limits.Batch))
		n := min(int(j.deficit), j.pending(), left)
		j.scheduled = n
		j.deficit -= float64(n)
		left -= n
	}
	s.turn++
	for i := range s.prefilling {
		j := s.prefilling[(s.turn+i)%len(s.prefilling)]
		n := min(j.pending()-j.scheduled, left)
		j.scheduled += n
		left -= n
	}
	for _, j := range s.prefilling {
		if j.seq == nil { // preempted for one before it
			continue
		}
		j.scheduled = s.secure(j, j.scheduled)
		if j.scheduled > 0 {
			s.planned = append(s.planned, j)
			s.record.Prefill += j.scheduled
		}
		if j.scheduled == j.pending() {
			j.deficit = 0
		}
	}
}

// weight makes a job of priority p+1 prefill twice as fast as one of priority p. Nobody gets nothing.
func (j *job) weight() float64 {
	return float64(int(1) << (min(max(j.req.Priority, -4), 4) + 4))
}

// secure finds KV cells for n tokens of a job, evicting idle sequences, then preempting jobs that come after it. It
// returns how many there are room for.
func (s *Scheduler) secure(j *job, n int) int {
	for n > 0 && !s.cache.reserve(s.scheduled()+n) {
		if !s.preempt(s.victim(j)) {
			n = max(s.cache.freeCells()-s.scheduled(), 0)
		}
	}
	return n
}

// scheduled is how many tokens are planned for this tick so far.
func (s *Scheduler) scheduled() int {
	n := 0
	for _, j := range s.planned {
		n += j.scheduled
	}
	return n
}
