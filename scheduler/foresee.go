// SPDX-License-Identifier: MIT

package scheduler

import (
	"github.com/penstock/penstock/scheduler/draft"
	"github.com/penstock/penstock/scheduler/panics"
)

// This file drafts what needs no guess: under a grammar often one text alone can come next, as the rest of a name that has begun. It is
// checked as any draft is, so the answer stays the same where the model writes that text in other tokens.

// foresee has the stages of a job draft what they leave no choice of. It reports whether there is such a draft.
func (s *Scheduler) foresee(j *job) bool {
	a, most := &j.guess.ask, s.roomAhead(j)
	a.Grade = min(a.Grade, draft.Grades-1)
	if most < 1 || !j.worker.Idle() {
		return false
	}
	a.Draft = a.Draft[:0]
	if err := panics.Try(func() error { a.Draft = append(a.Draft, j.chain.Foresee(most)...); return nil }); err != nil {
		s.logPanic(err)
	}
	if len(a.Draft) == 0 {
		return false
	}
	a.Grade = draft.Forced
	return true
}

// roomAhead is how many tokens may be computed ahead of a job's answer: none beyond its end.
func (s *Scheduler) roomAhead(j *job) int {
	most := s.config.MostDrafted
	if j.req.MostDrafted != 0 {
		most = min(most, j.req.MostDrafted)
	}
	most = min(most, s.limits.longest()-len(j.answer.Context())-1)
	if n := j.beforeAdapters(); n > 0 {
		most = min(most, n-1) // the pass computes all of them with the model alone
	}
	if j.req.MaxTokens > 0 {
		most = min(most, j.req.MaxTokens-j.answer.Generated()-1)
	}
	return most
}
