// SPDX-License-Identifier: MIT

package scheduler

import (
	"cmp"
	"slices"
	"time"

	"github.com/penstock/penstock/scheduler/draft"
	"github.com/penstock/penstock/scheduler/estimator"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/panics"
)

// This file computes several tokens of an answer in one pass. Some are guessed by the drafter, or
// known: under a grammar often one text alone can come next, as the rest of a name that has begun.
// The pass computes them after the answer's own token, each with a row. The answer draws its tokens
// as ever: from the first row, then from the second if the first token is the one that was drafted,
// and so on. What it does not take leaves the KV cache. So the text is what it would be without
// drafts, token by token.
//
// Drafts may lose little time: each answer has a budget for them. Package draft says more.

// speculation is what the ticks need for that.
type speculation struct {
	drafter draft.Drafter // nil: none, or it has panicked
	chances draft.Chances // of the drafts of all answers
	budget  time.Duration // that the first drafts of answers may lose
	costs   time.Duration // of a token in a call of the drafter

	// Of this tick, with memory that is used again.
	jobs   []*job // which may have a draft
	asks   []*draft.Ask
	choice estimator.Drafts
	alone  time.Duration // what the tick would take without drafts
	with   time.Duration // the longest pass with drafts that is believed
	spent  time.Duration // by the drafter
}

// guess is what a job has to do with drafts.
type guess struct {
	draft []Token // what is computed after the context; empty: none
	at    int     // tokens of the context before it
	row   int     // the row that was drawn from last, counted from the job's first
	worth time.Duration

	ask      draft.Ask
	text     []Token // see textContext
	foreseen []Token // what the stages leave no choice of
	offer    estimator.Offer
	chances  draft.Chances
	budget   time.Duration // that drafts may lose
	looks    time.Duration // that asking the stages may take
}

const (
	risked        = 100 // the part of an answer's time that drafts may lose
	savedForLooks = 4   // the part of what foreseen tokens have saved that may be spent on asking for others
	firstDrafts   = 2   // most tokens of a draft before any was right; then twice as many as were
)

// speculate adds drafted tokens to the plan, as many as promise the most tokens a second. It adds
// none while prompts wait, whose time that would be, nor where sets of adapters have passes of
// their own.
func (s *Scheduler) speculate() {
	p := &s.speculation
	p.jobs, p.spent = p.jobs[:0], 0
	if p.drafter == nil || s.decoding == 0 || len(s.prefilling) > 0 || sameAdapters(s.planned) < len(s.planned) {
		return
	}
	p.choice = estimator.Drafts{Decode: passOf(s.planned), Offers: p.choice.Offers, Most: s.config.MostDrafted,
		Room:  min(min(s.limits.Rows, s.limits.Batch)-s.decoding, s.cache.Free()-s.reserved),
		Apart: s.draftsApart(), Alike: s.limits.AlikeDrafts, Target: s.config.ITLTarget, Estimator: s.estimator}
	p.alone = s.estimator.Decode(p.choice.Decode)
	p.budget += p.alone / risked
	p.chances.Fade()
	costly := p.costs > p.alone/50 // the drafter is asked only for what is likely to pay
	share := p.alone / time.Duration(s.decoding)
	for _, b := range s.planned {
		if b.job.kind == kindAnswer { // nobody knows what a program is about to do
			s.expectDraft(b.job, share, costly)
		}
	}
	if costly {
		s.chooseDrafts(p.costs)
		for _, j := range p.jobs {
			a := &j.guess.ask
			if a.Most = j.guess.offer.Take; a.Most == 0 {
				a.Grade = min(a.Grade+1, draft.Grades-1) // the next guess may be surer than the last one
			}
		}
	}
	s.askDrafter()
	s.chooseDrafts(0)
	for _, j := range p.jobs {
		if g := &j.guess; g.offer.Take > 0 {
			g.draft, g.at, g.row, g.worth = g.ask.Draft[:g.offer.Take], len(j.answer.Context()), 0, share
			s.reserved += len(g.draft)
			s.record.Drafted += len(g.draft)
			s.record.Drafts++
		}
	}
	p.with = s.estimator.Verify(passOf(s.planned))
	if s.draftsApart() { // those with drafts have one, as many rows each
		drafts := func(b *branch) int { return min(len(b.job.guess.draft), 1) }
		slices.SortStableFunc(s.planned, func(a, b *branch) int { return cmp.Compare(drafts(a), drafts(b)) })
	}
}

// draftsApart reports whether slots with drafts have a pass of their own.
func (s *Scheduler) draftsApart() bool { return s.limits.SeparatePasses || s.limits.AlikeDrafts }

// sameDrafting is how many of the first branches are alike in having a draft or none.
func sameDrafting(branches []*branch) int {
	if n := slices.IndexFunc(branches, func(b *branch) bool { return b.drafting() != branches[0].drafting() }); n >= 0 {
		return n
	}
	return len(branches)
}

// expectDraft prepares what is asked for a job, whose share of the tick without drafts is given,
// and asks its stages what they leave no choice of. That takes time, too, of which an answer has as
// much as drafts may lose. What is known need not be guessed by a drafter that takes long.
func (s *Scheduler) expectDraft(j *job, share time.Duration, costly bool) {
	g, most := &j.guess, s.roomAhead(j)
	g.budget, g.looks = g.budget+share/risked, g.looks+share/risked
	g.chances.Fade()
	g.ask.Most = min(most, max(firstDrafts, 2*j.accepted, j.req.LeastDrafted))
	g.ask.Draft, g.ask.Grade, g.foreseen = g.ask.Draft[:0], min(g.ask.Grade, draft.Grades-1), g.foreseen[:0]
	s.speculation.jobs = append(s.speculation.jobs, j)
	if most < 1 || g.looks < 0 || share == 0 || !j.background.Idle() || !j.chain.Foresees() {
		return
	}
	start := s.config.Clock()
	if err := panics.Try(func() error { g.foreseen = append(g.foreseen, j.chain.Foresee(most)...); return nil }); err != nil {
		s.logPanic(err)
	}
	g.looks -= s.config.Clock().Sub(start)
	if len(g.foreseen) > 0 && costly {
		g.ask.Most = 0
	}
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

// chooseDrafts chooses how many tokens of which drafts are computed. Where a drafter's token costs
// something, the drafts are not there yet. The first one of an answer may be at the expense of all,
// if it is likely.
func (s *Scheduler) chooseDrafts(costs time.Duration) {
	p := &s.speculation
	p.choice.Offers, p.choice.Costs = p.choice.Offers[:0], costs
	for _, j := range p.jobs {
		g := &j.guess
		g.offer = estimator.Offer{Chance: s.chance(j, g.ask.Grade), Tokens: len(g.ask.Draft), Budget: g.budget}
		if costs > 0 {
			g.offer.Tokens = g.ask.Most
		}
		if j.drafted == 0 && g.ask.Grade >= draft.Likely {
			g.offer.Budget = max(g.budget, p.budget)
		}
		if g.offer.Tokens >= j.req.LeastDrafted && g.offer.Chance >= j.req.LeastChance {
			p.choice.Offers = append(p.choice.Offers, &g.offer)
		}
	}
	p.choice.Choose()
}

// chance is that of a drafted token of a job.
func (s *Scheduler) chance(j *job, grade int) float64 {
	return j.guess.chances.Of(grade, &s.speculation.chances)
}

// askDrafter has the drafter guess. What stages have foreseen takes the place of a guess where it
// promises more: the guess may go on for longer, and knows which tokens this answer has had for the
// same text.
func (s *Scheduler) askDrafter() {
	p := &s.speculation
	p.asks = p.asks[:0]
	longest := 1
	for _, j := range p.jobs {
		if a := &j.guess.ask; a.Most > 0 {
			a.Slot, a.Request, a.Context, a.Within = j.branch.slot, j.arrival, j.textContext(), s.config.ITLTarget-p.alone
			p.asks, longest = append(p.asks, a), max(longest, a.Most)
		}
	}
	if len(p.asks) > 0 {
		start := s.config.Clock()
		if err := panics.Try(func() error { p.drafter.Draft(p.asks); return nil }); err != nil {
			s.logPanic(err)
			p.drafter, p.jobs = nil, nil
			return
		}
		p.spent = s.config.Clock().Sub(start)
		if costs := p.spent / time.Duration(longest); costs < p.costs {
			p.costs += (costs - p.costs) / 2
		} else {
			p.costs += (costs - p.costs) / 8 // it may have been disturbed
		}
	}
	for _, a := range p.asks {
		a.Context, a.Draft, a.Grade = nil, a.Draft[:min(len(a.Draft), a.Most)], min(max(a.Grade, 0), draft.Grades-1)
		if i := slices.IndexFunc(a.Draft, func(t Token) bool { return t < 0 || int(t) >= s.limits.Vocabulary }); i >= 0 {
			a.Draft = a.Draft[:i]
		}
	}
	for _, j := range p.jobs {
		a, foreseen := &j.guess.ask, j.guess.foreseen
		if estimator.Expected(s.chance(j, draft.Forced), len(foreseen)) > estimator.Expected(s.chance(j, a.Grade), len(a.Draft)) {
			a.Draft, a.Grade = append(a.Draft[:0], foreseen...), draft.Forced
		}
	}
}

// followsDraft reports whether a native chain has drawn the drafted token, so that the next row is
// drawn from as well.
func (d *drawer) followsDraft() bool {
	g := &d.job.guess
	if !d.branch.drafting() || !d.tickDraws() {
		return false
	}
	n := d.answer.Along(g.at, g.draft)
	if n <= g.row {
		return false
	}
	g.row = n
	return true
}

// settleDraft notes how much of its draft a job has taken, and takes the rest out of the KV cache.
func (s *Scheduler) settleDraft(j *job) {
	if len(j.guess.draft) == 0 {
		return
	}
	g, out, context, right := &j.guess, j.answer.Output(), j.answer.Context(), 0
	if out.Unchanged >= g.at && len(context) >= g.at {
		right = kvcache.CommonPrefix(context[g.at:], g.draft)
	}
	j.drafted, j.accepted = j.drafted+len(g.draft), j.accepted+right
	s.record.Accepted += right
	saved := time.Duration(right) * g.worth
	g.budget, s.speculation.budget = g.budget+saved, s.speculation.budget+saved
	if g.ask.Grade == draft.Forced {
		g.looks += saved / savedForLooks
	}
	if out.Reason == 0 { // else nobody knows what else was right
		g.chances.Learn(g.ask.Grade, len(g.draft), right, &s.speculation.chances)
	}
	s.dropDraft(j)
}

// dropDraft takes the drafted tokens out of the KV cache but for those before the row that was
// drawn from last.
func (s *Scheduler) dropDraft(j *job) {
	had, keep := len(j.guess.draft) > 0, j.guess.at+j.guess.row
	if j.guess.draft, j.guess.row = nil, 0; had && j.branch.seq != nil {
		s.cache.Truncate(j.branch.seq, keep)
	}
}

// chargeDrafts takes from the budgets what drafts have cost in this tick, whether or not they were
// right. A tick that was disturbed does not count as longer than its pass with drafts was expected
// to take.
func (s *Scheduler) chargeDrafts() {
	p := &s.speculation
	extra := time.Duration(0)
	if s.record.Drafted > 0 {
		extra = min(max(s.record.Forward-p.alone, 0), p.with) / time.Duration(s.record.Drafted)
		if s.record.Forward < p.alone { // without drafts it would not have taken longer
			s.estimator.ObserveDecode(p.choice.Decode, s.record.Forward)
		}
	}
	for _, j := range p.jobs {
		costs := p.spent/time.Duration(len(p.jobs)) + extra*time.Duration(j.guess.offer.Take)
		j.guess.budget, p.budget = j.guess.budget-costs, p.budget-costs
	}
}
