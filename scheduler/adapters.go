// SPDX-License-Identifier: MIT

package scheduler

import (
	"slices"
	"strings"
	"time"

	"github.com/penstock/penstock/scheduler/kvcache"
)

// Adapters are what computes tokens besides the model, such as LoRA adapters with their scales. The scheduler knows only which are the
// same: one forward pass has one set, so each tick computes a pass for each set that its decode tokens need, and a chunk of prompts of
// one set, that of the prompt which goes first.
type Adapters interface {
	// Key is the same for the same set, never empty, and never used again for another.
	Key() string
}

// scopeOf is the scope of a request's cells.
func scopeOf(r *Request) kvcache.Scope {
	scope := kvcache.Scope{Salt: r.CacheSalt}
	if r.Adapters != nil {
		scope.Adapters, scope.From = r.Adapters.Key(), r.AdaptersFrom
	}
	return scope
}

// placeAdapters has the adapters begin at the same token as ever after the context was shifted.
func (s *Scheduler) placeAdapters(j *job) {
	if j.req.Shift == nil || j.req.Adapters == nil {
		return
	}
	from := j.answer.Place(j.req.AdaptersFrom)
	if from == j.scope.From {
		return
	}
	if j.scope.From = from; j.seq != nil {
		s.cache.Rescope(j.seq, j.scope)
	}
}

// beforeAdapters is how many tokens the job still computes with the model alone.
func (j *job) beforeAdapters() int {
	if j.req.Adapters == nil || j.seq == nil {
		return 0
	}
	return max(j.scope.From-j.seq.Len(), 0)
}

// chooseAdapters sets what computes the next tokens of the job.
func (j *job) chooseAdapters() {
	j.with = j.req.Adapters
	if j.beforeAdapters() > 0 {
		j.with = nil
	}
}

// computable is how many of the pending tokens one pass can compute: some adapters begin to count within the prompt, and a checkpoint may
// be wanted there.
func (j *job) computable() int {
	most := min(j.pending(), j.seq.Uninterrupted())
	if n := j.beforeAdapters(); n > 0 {
		return min(n, most)
	}
	return most
}

// withKey names what computes the next tokens of the job.
func (j *job) withKey() string {
	if j.with == nil {
		return ""
	}
	return j.scope.Adapters
}

// sameAdapters is how many of the first jobs have the same adapters.
func sameAdapters(jobs []*job) int {
	for i, j := range jobs {
		if j.withKey() != jobs[0].withKey() {
			return i
		}
	}
	return len(jobs)
}

// keepFirstAdapters leaves only those prompts to this tick that have the adapters of the one that goes first.
func (s *Scheduler) keepFirstAdapters() {
	if n := sameAdapters(s.prefilling); n < len(s.prefilling) {
		key := s.prefilling[0].withKey()
		s.prefilling = slices.DeleteFunc(s.prefilling, func(j *job) bool { return j.withKey() != key })
	}
}

// joinByAdapters orders the generating jobs of the plan by their adapters, those of the prompts last, so that each pass is a run of them.
func (s *Scheduler) joinByAdapters() {
	if sameAdapters(s.planned) == len(s.planned) {
		return
	}
	last := s.planned[len(s.planned)-1].withKey()
	slices.SortStableFunc(s.planned[:s.decoding], func(a, b *job) int {
		x, y := a.withKey(), b.withKey()
		switch {
		case x == y:
			return 0
		case x == last:
			return 1
		case y == last:
			return -1
		}
		return strings.Compare(x, y)
	})
}

// splitCost is how much longer the planned decode tokens take in passes of their own for each set of adapters.
func (s *Scheduler) splitCost() (cost time.Duration) {
	if sameAdapters(s.planned) == len(s.planned) {
		return 0
	}
	s.joinByAdapters()
	for rest := s.planned; len(rest) > 0; {
		n := sameAdapters(rest)
		cost += s.estimator.Decode(passOf(rest[:n]))
		rest = rest[n:]
	}
	return max(cost-s.estimator.Decode(passOf(s.planned)), 0)
}
