// SPDX-License-Identifier: MIT

package scheduler

import (
	"slices"
	"strings"
	"time"

	"github.com/penstock/penstock/scheduler/kvcache"
)

// Adapters are what computes tokens besides the model, such as LoRA adapters with their scales.
// The scheduler knows only which are the same: one forward pass has one set, so each tick computes
// a pass for each set that its decode tokens need, and a chunk of prompts of one set, that of the
// prompt which goes first.
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
	from := j.answer.ContextIndex(j.req.AdaptersFrom)
	if from == j.scope.From {
		return
	}
	if j.scope.From = from; j.branch.seq != nil {
		s.cache.Rescope(j.branch.seq, j.scope)
	}
}

// beforeAdapters is how many tokens the branch still computes with the model alone.
func (b *branch) beforeAdapters() int {
	if b.job.req.Adapters == nil || b.seq == nil {
		return 0
	}
	return max(b.job.scope.From-b.seq.Len(), 0)
}

// chooseAdapters sets what computes the next tokens of the branch.
func (b *branch) chooseAdapters() {
	b.with = b.job.req.Adapters
	if b.beforeAdapters() > 0 {
		b.with = nil
	}
}

// computable is how many of the pending tokens one pass can compute: some adapters begin to count
// within the prompt, a checkpoint may be wanted there, and a picture is in no pass with tokens.
func (b *branch) computable() int {
	most := min(b.pending(), b.seq.Uninterrupted())
	if n := b.beforeAdapters(); n > 0 {
		most = min(n, most)
	}
	return b.untilPiece(most)
}

// withKey names what computes the next tokens of the branch.
func (b *branch) withKey() string {
	if b.with == nil {
		return ""
	}
	return b.job.scope.Adapters
}

// sameAdapters is how many of the first branches have the same adapters.
func sameAdapters(branches []*branch) int {
	for i, b := range branches {
		if b.withKey() != branches[0].withKey() {
			return i
		}
	}
	return len(branches)
}

// joinByAdapters orders the generating branches of the plan by their adapters, those of the
// prompts last, so that each pass is a run of them.
func (s *Scheduler) joinByAdapters() {
	if sameAdapters(s.planned) == len(s.planned) {
		return
	}
	last := s.planned[len(s.planned)-1].withKey()
	slices.SortStableFunc(s.planned[:s.decoding], func(a, b *branch) int {
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

// splitCost is how much longer the planned decode tokens take in passes of their own for each set
// of adapters.
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
