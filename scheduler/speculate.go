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

// This file computes several tokens of an answer in one pass. The drafter guesses some, and the
// pass computes them after the answer's own, each with a row. The answer draws its tokens as ever:
// from the first row, then from the second if the first token is the one that was guessed, and so
// on. What it does not take leaves the KV cache. So the text is what it would be without a drafter,
// token by token.
//
// A program's branches that go on by themselves (sample.go) have drafts as answers do. What a
// program is about to do with the others, nobody knows.
//
// Drafts may lose little time. Each job has a budget for its drafts (gains.budget), and one for
// asking its stages what they leave no choice of (gains.looks). All together have another, which
// pays for a job's first draft. What does not seem to pay is tried now and then, as long as the
// answer's budget lasts: its text may have come to a part that repeats (a trial).

// speculation is what the ticks need for that; its memory is used again.
type speculation struct {
	drafter       draft.Drafter // nil: none, or it has panicked
	chances       draft.Chances // of the drafts of all answers
	asks          []*draft.Ask
	asked         []*drawer
	foreseen      []*drawer // their stages know how they go on
	trials        []*drawer
	charged       []*drawer // that may have to pay for this tick
	offers        estimator.Drafts
	costs         time.Duration // of a token in a call of the drafter
	budget        draft.Budget  // of all answers
	costly        bool          // the drafter takes so long that it is asked only for what is likely to pay
	look          time.Duration // what stages take to tell what they leave no choice of, as of late
	withoutDrafts time.Duration // what the tick would take without drafts
	chosen        time.Duration // and with those that promise something
	with          time.Duration // the longest pass with drafts that is believed
	besidePrompts time.Duration // what drafts may take beside the tick's prompts; 0: there are none of both
	promptTime    time.Duration // what the tick's passes over prompts have taken
}

// gains are what a job's drafts have gained so far: those of all branches of a program.
type gains struct {
	chances draft.Chances
	budget  draft.Budget
	looks   draft.Budget // of asking the stages for foreseen tokens
	looked  bool         // it has its share for the beginning
}

// guess is what a drawer has to do with the drafter.
type guess struct {
	draft    []Token // the part of ask.Draft that is computed; empty: none
	row      int     // the row that was drawn from last, counted from the job's first
	ask      draft.Ask
	foreseen []Token // what the stages leave no choice of
	text     wordsOfContext
	at       int           // tokens of the context before it
	rows     int           // of guessed tokens in this tick
	spent    time.Duration // its part of what the drafter took in this tick
	missed   int           // questions in a row to which the drafter had no guess
	worth    time.Duration // what one that is right saves
	allowed  bool          // the request does not refuse the draft
	chosen   bool          // it promises something
	trial    bool          // it was asked for although it does not seem to pay
}

// drafting reports whether guessed tokens are computed after the drawer's own in this tick.
func (g *guess) drafting() bool { return len(g.draft) > 0 }

// draft is what is guessed to follow a branch, and computed in this tick.
func (b *branch) draft() []Token {
	if b.drawer == nil {
		return nil
	}
	return b.drawer.guess.draft
}

// wordsOfContext is a context without the rows of pieces, see textContext.
type wordsOfContext struct {
	tokens []Token
	before int // tokens of it that stand in the context before upTo
	upTo   int // tokens of the context up to its last row of a piece
}

// sameDrafting is how many of the branches, from the first on, have a draft as the first has, or
// have none as it has none.
func sameDrafting(branches []*branch) int {
	drafting := len(branches[0].draft()) > 0
	if n := slices.IndexFunc(branches, func(b *branch) bool { return len(b.draft()) > 0 != drafting }); n >= 0 {
		return n
	}
	return len(branches)
}

// speculate adds guessed tokens to the plan, as many as promise the most tokens a second. While
// prompts wait, whose time that would be, it adds only what besidePrompts allows. It adds none
// where sets of adapters have passes of their own.
func (s *Scheduler) speculate() {
	p := &s.speculation
	p.asked, p.foreseen, p.charged = p.asked[:0], p.foreseen[:0], p.charged[:0]
	prompts := s.planned[s.decoding:]
	if !s.canDraft() || len(s.prefilling) > 0 && (p.besidePrompts == 0 || len(prompts) == 0) {
		return
	}
	p.offers = s.draftOffers()
	if len(prompts) > 0 { // the pass over these comes next, and is planned anew in any case
		p.offers.Target -= s.estimator.Prefill(passOf(prompts))
		p.offers.Most, p.offers.Begun = mostBeside, true
	}
	s.earn()
	s.chooseAsked()
	s.askDrafter()
	s.takeForeseen()
	length := s.choose(0, func(a *draft.Ask) int { return len(a.Draft) })
	if !p.costly { // else it was asked for trials only
		s.chooseTrials()
	}
	trial := 1
	if s.limits.AlikeDrafts {
		length = s.alike(length)
		trial = min(length, 1)
	}
	for _, d := range p.asked {
		switch {
		case d.guess.trial:
			s.draft(d, trial)
		case d.guess.chosen:
			s.draft(d, length)
		}
	}
	p.with = s.estimator.Verify(passOf(s.planned[:s.decoding]))
	if s.draftsApart() { // those with drafts have one, as many rows each
		drafts := func(b *branch) int { return min(len(b.draft()), 1) }
		slices.SortStableFunc(s.planned[:s.decoding], func(a, b *branch) int { return cmp.Compare(drafts(a), drafts(b)) })
	}
}

// canDraft reports whether any of the planned branches can have a draft.
func (s *Scheduler) canDraft() bool {
	return s.speculation.drafter != nil && s.decoding > 0 && sameAdapters(s.planned[:s.decoding]) == s.decoding
}

// draftOffers is what drafts beside the planned decode tokens are chosen from.
func (s *Scheduler) draftOffers() estimator.Drafts {
	return estimator.Drafts{Decode: passOf(s.planned[:s.decoding]), Room: min(s.limits.Rows, s.limits.Batch) - s.decoding, Most: s.config.MostDrafted,
		Target: s.target, Estimator: s.estimator, Offers: s.speculation.offers.Offers, Apart: s.draftsApart(), Begun: s.drafted}
}

const (
	likelyBeside = 0.6 // chance of a drafted token from which an answer has drafts beside prompts
	mostBeside   = 2   // tokens of each
	shareBeside  = 4   // they take at most one of so many parts of the time that prompts would have
	missedBeside = 4   // questions in a row without a guess, after which an answer has them less often,
	missedEvery  = 8   // in one tick of so many: the time is taken from the prompts before the drafter is asked
)

// besidePrompts is the time that the tick spares for drafts beside a chunk of prompts, which is
// smaller by that: for answers whose drafts were mostly right. A right one saves them a whole tick,
// which prompts make long. There are none where one pass computes all, nor trials.
func (s *Scheduler) besidePrompts() time.Duration {
	if !s.limits.SeparatePasses || !s.canDraft() {
		return 0
	}
	n := 0
	for _, b := range s.planned[:s.decoding] {
		if b.drawer != nil && s.draftsBeside(b.drawer) {
			n++
		}
	}
	if n == 0 {
		return 0
	}
	offers := s.draftOffers()
	takes := time.Duration(n*mostBeside)*offers.Row(n, mostBeside) + mostBeside*s.speculation.costs
	if takes > (s.target-s.estimator.Decode(offers.Decode))/shareBeside {
		return 0
	}
	return takes
}

// draftsBeside reports whether a drawer may have a draft beside prompts.
func (s *Scheduler) draftsBeside(d *drawer) bool {
	return d.job.drafted > 0 && s.mostDrafted(d) > 0 && s.draftChance(d) >= likelyBeside && d.job.gains.budget.Left() > 0 &&
		(d.guess.missed < missedBeside || s.ticks%missedEvery == 0)
}

// draftsApart reports whether slots with drafts have a pass of their own.
func (s *Scheduler) draftsApart() bool { return s.limits.SeparatePasses || s.limits.AlikeDrafts }

// alike is the length that all drafts of the tick can have; 0: none.
func (s *Scheduler) alike(length int) int {
	drafts := 0
	for _, d := range s.speculation.asked {
		switch {
		case d.guess.trial:
			length = 1
		case d.guess.chosen:
			length = min(length, len(d.guess.ask.Draft))
		default:
			continue
		}
		drafts++
	}
	if drafts == 0 {
		return 0
	}
	return min(length, (s.cache.Free()-s.reserved)/drafts, s.speculation.offers.Room/drafts)
}

// choose chooses which of the asked drawers are to have drafts of which length. tokens is how long
// that of each can be; costs what the drafter needs for a token.
func (s *Scheduler) choose(costs time.Duration, tokens func(*draft.Ask) int) (length int) {
	p := &s.speculation
	slices.SortStableFunc(p.asked, func(a, b *drawer) int { return cmp.Compare(s.draftChance(b), s.draftChance(a)) })
	p.offers.Offers, p.offers.Costs = p.offers.Offers[:0], costs
	for _, d := range p.asked {
		offer := s.offer(d, tokens(&d.guess.ask))
		d.guess.allowed = offer.Tokens > 0
		p.offers.Offers = append(p.offers.Offers, offer)
	}
	n, length := p.offers.Choose()
	for i, d := range p.asked {
		d.guess.chosen = i < n && p.offers.Offers[i].Tokens > 0
	}
	p.chosen = p.offers.Duration(n, length)
	return length
}

// offer is the draft that a drawer could have. The first one of a job may be at the expense of
// all, if it is likely. With a costly drafter it must be, or many short answers would each lose
// what an answer may.
func (s *Scheduler) offer(d *drawer, tokens int) estimator.Offer {
	j, g := d.job, &d.guess
	budget := j.gains.budget.Left()
	if all := s.speculation.budget.Left(); j.drafted == 0 && g.ask.Grade >= draft.Likely && (s.speculation.costly || all > budget) {
		budget = all
	}
	chance := s.draftChance(d)
	if tokens < j.req.LeastDrafted || chance < j.req.LeastChance {
		tokens = 0
	}
	return estimator.Offer{Chance: chance, Tokens: tokens, Depth: d.branch.seq.Len() + 1, Budget: budget}
}

// disturbed is how many passes a call of the drafter counts as at most that takes more than twice
// as long as others.
const disturbed = 8

// cheap is the part of a tick that asking the drafter takes at most if it is always asked: half of
// what budgets earn.
const cheap = 200

// chooseAsked chooses for which of the planned branches the drafter is asked, and for how many
// tokens.
func (s *Scheduler) chooseAsked() {
	p := &s.speculation
	longest := 1
	for _, b := range s.planned[:s.decoding] {
		if b.drawer == nil {
			continue
		}
		d := b.drawer
		if d.guess.trial, d.guess.rows = false, 0; p.besidePrompts == 0 || s.draftsBeside(d) {
			d.guess.ask.Most = min(s.mostDrafted(d), p.offers.Most)
			longest = max(longest, d.guess.ask.Most)
			p.asked = append(p.asked, d)
		}
	}
	p.charged = append(p.charged, p.asked...)
	p.costly = p.costs*time.Duration(longest) > p.withoutDrafts/cheap
	p.asked = slices.DeleteFunc(p.asked, func(d *drawer) bool {
		if p.costly && d.job.drafted == 0 {
			d.guess.ask.Grade = draft.Likely // nothing is known of it: what others have accepted decides
		}
		foreseen := s.foresee(d)
		if foreseen {
			p.foreseen = append(p.foreseen, d)
		}
		return d.guess.ask.Most < 1 || foreseen && p.costly // what is known need not be guessed
	})
	if !p.costly {
		return
	}
	length := s.choose(p.costs, func(a *draft.Ask) int { return a.Most })
	s.chooseTrials()
	p.asked = slices.DeleteFunc(p.asked, func(d *drawer) bool {
		if d.guess.ask.Most = min(d.guess.ask.Most, length); d.guess.trial {
			d.guess.ask.Most = 1
		}
		return !d.guess.chosen && !d.guess.trial
	})
}

// chooseTrials chooses which of the asked drawers are to have a draft although it does not seem to
// pay, since the text may have come to a part that repeats: those that can bear that it is wrong.
// Where trials would need a pass that there is not otherwise, all have it together.
func (s *Scheduler) chooseTrials() {
	p := &s.speculation
	others, none := p.trials[:0], true
	for _, d := range p.asked {
		if !d.guess.chosen && d.guess.allowed {
			others = append(others, d)
		}
		none = none && !d.guess.chosen
	}
	p.trials = others
	together := 1
	if none && s.draftsApart() && s.decoding > 1 {
		together = len(others)
	}
	if len(others) == 0 || p.besidePrompts > 0 {
		return
	}
	price, sensible := p.offers.Trial(together, p.chosen)
	able := func(d *drawer) bool { return sensible && d.job.gains.budget.Left() >= price }
	if together > 1 {
		due := !slices.ContainsFunc(others, func(d *drawer) bool { return !able(d) })
		for _, d := range others {
			d.guess.trial = due
		}
		return
	}
	if i := slices.IndexFunc(others, able); i >= 0 {
		others[i].guess.trial = true // one in a tick
	}
}

// askDrafter has the drafter guess for the asked drawers, which pay for that when the tick has
// ended. Those stay that get a draft.
func (s *Scheduler) askDrafter() {
	p := &s.speculation
	p.asks = p.asks[:0]
	longest := 1
	for _, d := range p.asked {
		a := &d.guess.ask
		a.Slot, a.Request, a.Context, a.Draft = d.branch.slot, d.job.arrival, d.textContext(), a.Draft[:0]
		a.Within = p.offers.Target - p.withoutDrafts
		a.Sequence, a.Position = d.branch.seq.ID(), d.branch.seq.Position()+d.branch.pending()-1
		p.asks, longest = append(p.asks, a), max(longest, a.Most)
	}
	if len(p.asks) == 0 {
		return
	}
	start := s.config.Clock()
	if err := panics.Try(func() error { p.drafter.Draft(p.asks); return nil }); err != nil {
		s.logPanic(err)
		p.drafter, p.asked = nil, nil
		return
	}
	spent := s.config.Clock().Sub(start)
	counts := min(spent, max(disturbed*p.withoutDrafts, 2*p.costs*time.Duration(longest))) / time.Duration(len(p.asks))
	if costs := spent / time.Duration(longest); costs < p.costs {
		p.costs += (costs - p.costs) / 2
	} else {
		p.costs += (costs - p.costs) / 8 // it may have been disturbed
	}
	for _, d := range p.asked {
		d.guess.spent = counts
	}
	p.asked = slices.DeleteFunc(p.asked, func(d *drawer) bool {
		a := &d.guess.ask
		a.Context, a.Grade = nil, min(max(a.Grade, 0), draft.Grades-1)
		a.Draft = a.Draft[:min(len(a.Draft), a.Most)]
		if i := slices.IndexFunc(a.Draft, func(t Token) bool { return t < 0 || int(t) >= s.limits.Vocabulary }); i >= 0 {
			a.Draft = a.Draft[:i]
		}
		if d.guess.missed++; len(a.Draft) > 0 {
			d.guess.missed = 0
		}
		return len(a.Draft) == 0
	})
}

// draftChance is how likely a drafted token of a drawer is right.
func (s *Scheduler) draftChance(d *drawer) float64 {
	return d.job.gains.chances.Of(d.guess.ask.Grade, &s.speculation.chances)
}

// firstDrafts is how many tokens drafts of a job have at most before any was right. After that
// they have up to twice as many as were.
const firstDrafts = 2

// mostDrafted is how many tokens a drafter may guess for a drawer now, at first few.
func (s *Scheduler) mostDrafted(d *drawer) int {
	return min(s.roomAhead(d), max(firstDrafts, 2*d.job.accepted, d.job.req.LeastDrafted))
}

// draft plans up to n guessed tokens of a drawer, as far as there are free cells and rows.
func (s *Scheduler) draft(d *drawer, n int) {
	room := &s.speculation.offers.Room
	n = min(n, len(d.guess.ask.Draft), s.cache.Free()-s.reserved, *room)
	if n < 1 {
		return
	}
	g := &d.guess
	g.draft, g.at, g.row = g.ask.Draft[:n], len(d.answer.Context()), 0
	g.rows, g.worth = n, s.speculation.withoutDrafts/time.Duration(s.decoding)
	*room -= n
	s.reserved += n
	s.record.Drafted += n
	s.record.Drafts++
}

// followsDraft reports whether a native chain has drawn the drafted token, so that the next row is
// drawn from as well.
func (d *drawer) followsDraft() bool {
	g := &d.guess
	if !g.drafting() || !d.tickDraws() {
		return false
	}
	n := d.answer.Along(g.at, g.draft)
	if n <= g.row {
		return false
	}
	g.row = n
	return true
}

// settleDraft notes how much of its draft a drawer has taken, and takes the rest out of the KV
// cache.
func (s *Scheduler) settleDraft(d *drawer) {
	if !d.guess.drafting() {
		return
	}
	j, g, out, context, right := d.job, &d.guess, d.answer.Output(), d.answer.Context(), 0
	if out.Unchanged >= g.at && len(context) >= g.at {
		right = kvcache.CommonPrefix(context[g.at:], g.draft)
	}
	j.drafted, j.accepted = j.drafted+len(g.draft), j.accepted+right
	s.record.Accepted += right
	saved := time.Duration(right) * g.worth
	j.gains.budget.Settle(saved)
	s.speculation.budget.Settle(saved)
	if g.ask.Grade == draft.Forced {
		j.gains.looks.Settle(saved / savedForLooks)
	}
	if out.Reason == 0 { // else nobody knows what else was right
		j.gains.chances.Learn(g.ask.Grade, len(g.draft), right, &s.speculation.chances)
	}
	s.dropDraft(d)
}

// dropDraft takes the guessed tokens out of the KV cache but for those before the row that was
// drawn from last.
func (s *Scheduler) dropDraft(d *drawer) {
	had, keep := d.guess.drafting(), d.guess.at+d.guess.row
	if d.guess.draft, d.guess.row = nil, 0; had && d.branch.seq != nil {
		s.cache.Truncate(d.branch.seq, keep)
	}
}

// earn lets the budgets grow by what the tick takes without drafts.
func (s *Scheduler) earn() {
	p := &s.speculation
	p.withoutDrafts = s.estimator.Decode(p.offers.Decode)
	p.budget.Earn(p.withoutDrafts)
	p.look -= p.look / 128   // it may have become less, which only another look can tell
	p.costs -= p.costs / 256 // the same
	for _, b := range s.planned[:s.decoding] {
		share := p.withoutDrafts / time.Duration(s.decoding)
		b.job.gains.budget.Earn(share)
		b.job.gains.looks.Earn(share)
	}
}

// chargeDrafts takes from the budgets what drafts have cost in this tick, whether or not they were
// right. The first in a row also pay for the pass after the last ones, which is planned anew. A
// tick that was disturbed does not count as longer than its pass with drafts was expected to take.
func (s *Scheduler) chargeDrafts() {
	p := &s.speculation
	var extra time.Duration // of a drafted token
	took := s.record.Forward - p.promptTime
	if s.record.Drafted > 0 {
		extra = min(max(took-p.withoutDrafts, 0), p.with)
		if !p.offers.Begun {
			extra += s.estimator.Replan()
		}
		extra /= time.Duration(s.record.Drafted)
	}
	for _, d := range p.charged {
		costs := d.guess.spent + extra*time.Duration(d.guess.rows)
		d.guess.spent = 0
		d.job.gains.budget.Settle(-costs)
		p.budget.Settle(-costs)
	}
	if s.record.Drafted > 0 && s.decoding > 0 && took < p.withoutDrafts { // without drafts it would not have taken longer
		s.estimator.ObserveDecode(p.offers.Decode, took)
	}
}

// savedForLooks is the part of what foreseen tokens have saved that may be spent on looking for
// others.
const savedForLooks = 4

// foresee asks the stages of a drawer what they leave no choice of: under a grammar often one text
// alone can come next, as the rest of a name that has begun. It is checked as any draft is, so the
// answer stays the same where the model writes that text in other tokens. It reports whether there
// is something. To look takes time, too, of which an answer has as much as drafts may lose, and for
// the beginning as much as one of its tokens takes.
func (s *Scheduler) foresee(d *drawer) bool {
	p, g, of, most := &s.speculation, &d.guess, &d.job.gains, s.roomAhead(d)
	g.foreseen, g.ask.Grade = g.foreseen[:0], min(g.ask.Grade, draft.Grades-1)
	if most < 1 || !d.background.Idle() || !d.chain.Foresees() || p.withoutDrafts == 0 {
		return false
	}
	if !of.looked {
		of.looked = true
		of.looks.Settle(p.withoutDrafts / time.Duration(s.decoding))
	}
	if of.looks.Left() < p.look {
		return false
	}
	start := s.config.Clock()
	if err := panics.Try(func() error { g.foreseen = append(g.foreseen, d.chain.Foresee(most)...); return nil }); err != nil {
		s.logPanic(err)
	}
	took := s.config.Clock().Sub(start)
	of.looks.Settle(-took)
	p.look += (took - p.look) / 4
	return len(g.foreseen) > 0
}

// takeForeseen makes what stages have foreseen drafts, where it promises more than what the
// drafter has guessed: that may go on for longer, and knows which tokens this answer has had for
// the same text.
func (s *Scheduler) takeForeseen() {
	p := &s.speculation
	for _, d := range p.foreseen {
		a, asked := &d.guess.ask, slices.Contains(p.asked, d)
		if asked && s.promises(d, a.Grade, len(a.Draft)) >= s.promises(d, draft.Forced, len(d.guess.foreseen)) {
			continue
		}
		a.Draft, a.Grade = append(a.Draft[:0], d.guess.foreseen...), draft.Forced
		if !asked {
			p.asked = append(p.asked, d)
		}
	}
}

// promises is how many tokens of a drawer's draft are expected to be right.
func (s *Scheduler) promises(d *drawer, grade, tokens int) float64 {
	o := estimator.Offer{Chance: d.job.gains.chances.Of(grade, &s.speculation.chances), Tokens: tokens}
	return o.Expected(tokens)
}

// roomAhead is how many tokens may be computed ahead of what a drawer has drawn: none beyond its
// end.
func (s *Scheduler) roomAhead(d *drawer) int {
	most := s.config.MostDrafted
	if n := d.job.req.MostDrafted; n != 0 {
		most = min(most, n)
	}
	most = min(most, s.limits.longest()-len(d.answer.Context())-1)
	if n := d.branch.beforeAdapters(); n > 0 {
		most = min(most, n-1) // the pass computes all of them with the model alone
	}
	if n := d.answer.MaxTokens(); n > 0 {
		most = min(most, n-d.answer.Generated()-1)
	}
	return most
}
