// SPDX-License-Identifier: MIT

package scheduler

import (
	"slices"
	"time"

	"github.com/penstock/penstock/scheduler/draft"
	"github.com/penstock/penstock/scheduler/estimator"
	"github.com/penstock/penstock/scheduler/panics"
)

// This file drafts what needs no guess: under a grammar often one text alone can come next, as the
// rest of a name that has begun. It is checked as any draft is, so the answer stays the same where
// the model writes that text in other tokens.

// savedForLooks is the part of what foreseen tokens have saved that may be spent on looking for
// others.
const savedForLooks = 4

// foresee asks the stages of a job what they leave no choice of. It reports whether there is
// something. To look takes time, too, of which an answer has as much as drafts may lose, and for
// the beginning as much as one of its tokens takes.
func (s *Scheduler) foresee(j *job) bool {
	p, g, most := &s.speculation, &j.guess, s.roomAhead(j)
	g.foreseen, g.ask.Grade = g.foreseen[:0], min(g.ask.Grade, draft.Grades-1)
	if most < 1 || !j.background.Idle() || !j.chain.Foresees() || p.withoutDrafts == 0 {
		return false
	}
	if !g.looked {
		g.looked = true
		g.looks.Settle(p.withoutDrafts / time.Duration(s.decoding))
	}
	if g.looks.Left() < p.look {
		return false
	}
	start := s.config.Clock()
	if err := panics.Try(func() error { g.foreseen = append(g.foreseen, j.chain.Foresee(most)...); return nil }); err != nil {
		s.logPanic(err)
	}
	took := s.config.Clock().Sub(start)
	g.looks.Settle(-took)
	p.look += (took - p.look) / 4
	return len(g.foreseen) > 0
}

// takeForeseen makes what stages have foreseen drafts, where it promises more than what the
// drafter has guessed: that may go on for longer, and knows which tokens this answer has had for
// the same text.
func (s *Scheduler) takeForeseen() {
	p := &s.speculation
	for _, j := range p.foreseen {
		a, asked := &j.guess.ask, slices.Contains(p.asked, j)
		if asked && s.promises(j, a.Grade, len(a.Draft)) >= s.promises(j, draft.Forced, len(j.guess.foreseen)) {
			continue
		}
		a.Draft, a.Grade = append(a.Draft[:0], j.guess.foreseen...), draft.Forced
		if !asked {
			p.asked = append(p.asked, j)
		}
	}
}

// promises is how many tokens of a job's draft are expected to be right.
func (s *Scheduler) promises(j *job, grade, tokens int) float64 {
	o := estimator.Offer{Chance: j.guess.chances.Of(grade, &s.speculation.chances), Tokens: tokens}
	return o.Expected(tokens)
}

// roomAhead is how many tokens may be computed ahead of a job's answer: none beyond its end.
func (s *Scheduler) roomAhead(j *job) int {
	most := s.config.MostDrafted
	if j.req.MostDrafted != 0 {
		most = min(most, j.req.MostDrafted)
	}
	most = min(most, s.limits.longest()-len(j.answer.Context())-1)
	if n := j.branch.beforeAdapters(); n > 0 {
		most = min(most, n-1) // the pass computes all of them with the model alone
	}
	if j.req.MaxTokens > 0 {
		most = min(most, j.req.MaxTokens-j.answer.Generated()-1)
	}
	return most
}
