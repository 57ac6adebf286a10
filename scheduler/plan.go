// SPDX-License-Identifier: MIT

package scheduler

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/estimator"
)

// tickPlan is what a tick plans, in memory that is reused, and what the next plan has to know of
// it.
type tickPlan struct {
	order      []*job    // running as it was after admission
	planned    []*branch // in this tick, the generating ones first
	decoding   int       // how many of planned are generating
	prefilling []*branch // those of running whose prompts are to be computed
	reserved   int       // KV cells that planned will fill
	demand     estimator.Demand
	target     time.Duration // for the time that the tick takes
	neighbours bool          // slots of other schedulers generate, which wait for it

	ticks      int  // that were planned so far
	prefilled  int  // prompt tokens that were planned so far
	shortTick  bool // the last tick had short prompts only, though longer ones waited
	awaitsCopy bool // a running job waits for cells whose sequence is being saved
}

// plan chooses the branches of this tick and how many tokens each computes: a decode token for
// every generating slot first, then chunks of prompts. It ends the jobs that are not to go on:
// those whose reader is too slow where the request says so, and those that wanted only their prompt
// computed. For want of cells it preempts others.
func (s *Scheduler) plan() {
	s.awaitsCopy = false
	s.speculation.besidePrompts = 0
	s.target, s.neighbours = s.machine.target(s.config.ITLTarget)
	each(s, s.order, s.planJob)
	s.decoding = len(s.planned)
	s.prefill()
	s.joinByAdapters()
}

// planJob plans the tokens of those branches of a job that generate.
func (s *Scheduler) planJob(_ int, j *job) {
	for _, b := range j.branches {
		b.scheduled, b.outputRow = 0, -1
		b.chooseAdapters()
	}
	switch {
	case !j.inSlot(): // preempted for one before it
	case !j.checkReady():
		if j.stalled && j.req.Overflow == CancelSlow {
			s.endJob(j, End{Reason: answer.ReasonCancelled, Err: ErrSlowReader})
		}
	case j.isFinished():
		s.endJob(j, End{Reason: answer.ReasonLength})
	default:
		for _, b := range j.branches {
			s.planBranch(b)
		}
	}
}

// planBranch plans the token of a branch that generates. Any other goes on the list of those that
// share the chunk (prefilling). Where nothing is pending, the last token is computed again: there
// is no row to draw from.
func (s *Scheduler) planBranch(b *branch) {
	if b.seq == nil || !b.awake() || b.busy() { // nothing of a program's is to be computed, or it waits for a sequence
		return
	}
	if b.pending() == 0 {
		s.cache.Truncate(b.seq, len(b.tokens())-1)
		b.chooseAdapters() // more may have gone
	}
	switch {
	case !b.generating():
		s.prefilling = append(s.prefilling, b)
	case s.secureCells(b, 1) == 1:
		b.scheduled = 1
		s.planned = append(s.planned, b)
	}
}

const (
	shortPrompt      = 64 // most tokens that are left of a short prompt
	longestWaitEvery = 8  // of so many ticks, one goes first to the prompt that has waited longest for a chunk
	overtaking       = 8  // a prompt can be overtaken by so many times its own tokens

	mostTogether = 1536 // tokens of prompts that end in one pass; for it none waits longer than so many take
	eachTogether = 128  // most tokens of each of them
)

func (b *branch) short() bool { return b.pending() <= shortPrompt }

// finishKey orders the prefilling branches, smallest first: shortest remaining time first, with a
// bound on waiting. It is the prompt tokens that all had computed when this one got its slot, plus
// overtaking times those it still lacks. So what is nearly done goes first, but a job that gets its
// slot 8n prompt tokens later can no longer pass one that lacked n. Each step of priority halves
// the second term.
func (b *branch) finishKey() float64 {
	return float64(b.prefilledAtEntry) + math.Ldexp(float64(overtaking*b.pending()), -min(max(b.job.req.Priority, -4), 4))
}

// prefill shares the tick's chunk among the prefilling branches. The one with the smallest
// finishKey goes first; in every eighth tick the one that has waited longest for a chunk. The
// first one gets all it can take: a chunk of one prompt is computed faster than two halves of two.
// Short prompts have every other tick to themselves, except the eighth: sharing a chunk with a
// longer prompt they would wait for that pass.
func (s *Scheduler) prefill() {
	s.prefilling = slices.DeleteFunc(s.prefilling, hasNoCells)
	short := countShort(s.prefilling)
	s.ticks++
	longestWait, together := s.ticks%longestWaitEvery == 0, s.endTogether()
	s.shortTick = !together && !longestWait && !s.shortTick && short > 0 && short < len(s.prefilling)
	slices.SortStableFunc(s.prefilling, func(a, b *branch) int {
		switch {
		case longestWait:
			return cmp.Compare(a.lastChunkTick, b.lastChunkTick)
		case !s.shortTick || a.short() == b.short():
			return cmp.Compare(a.finishKey(), b.finishKey())
		case a.short():
			return -1
		}
		return 1
	})
	for waiting := s.prefilling; len(waiting) > 0 && len(s.planned) == s.decoding; { // where the first get no cells, others may
		waiting = s.keepAlike(waiting)
		s.planChunk(together)
	}
	for _, b := range s.planned[s.decoding:] { // not those that were preempted after they were planned
		s.prefilled += b.scheduled
	}
}

// hasNoCells reports whether a branch has lost its cells to others since it was listed.
func hasNoCells(b *branch) bool { return b.seq == nil }

// keepAlike leaves those of the waiting prompts to this tick that can be computed with the first of
// them, and returns the others. A pass has one set of adapters, and one picture or none; a tick for
// short prompts has no others.
func (s *Scheduler) keepAlike(waiting []*branch) (others []*branch) {
	s.prefilling = slices.DeleteFunc(waiting, hasNoCells)
	alike := func(b *branch) bool {
		first := s.prefilling[0]
		return b == first || b.withKey() == first.withKey() && !b.atPiece() && !first.atPiece() && (!s.shortTick || b.short() == first.short())
	}
	i := slices.IndexFunc(s.prefilling, func(b *branch) bool { return !alike(b) })
	if i < 0 {
		return nil
	}
	kept := slices.Clone(s.prefilling[:i])
	for _, b := range s.prefilling[i:] {
		if alike(b) {
			kept = append(kept, b)
		} else {
			others = append(others, b)
		}
	}
	s.prefilling = kept
	return others
}

// planChunk plans the tick's chunk of the prefilling branches, which are alike.
func (s *Scheduler) planChunk(together bool) {
	s.promptRows.rows = s.rowsForPrompts()
	chunk := s.chunkSize()
	if together && pendingOf(s.prefilling) > chunk {
		s.planPrompts(chunk, 1)
	}
	if len(s.planned) == s.decoding {
		s.planPrompts(chunk, 0)
	}
}

// planPrompts plans the next `left` tokens of the prefilling branches, in their order. Of each
// prompt it leaves the last `kept` tokens for a later tick.
func (s *Scheduler) planPrompts(left, kept int) {
	each(s, s.prefilling, func(_ int, b *branch) {
		if b.seq == nil { // preempted for one before it
			return
		}
		most := min(b.computable(), b.pending()-kept, left)
		if whole := b.wholeRows(); whole > 0 {
			most = whole // however long that takes: there is no part of it
		}
		if b.wantsPromptRows() {
			most = b.scorable(most, s.promptRows.rows)
		}
		b.scheduled = s.secureCells(b, most)
		if fit := b.fitWhole(); fit < b.scheduled {
			s.reserved -= b.scheduled
			b.scheduled = fit
		}
		if b.scheduled == 0 {
			return
		}
		if b.wantsPromptRows() {
			s.promptRows.rows -= b.rowsOf(b.scheduled)
		}
		b.lastChunkTick = s.ticks
		left = max(left-b.scheduled, 0)
		s.planned = append(s.planned, b)
	})
}

// endTogether reports whether the prompts came in one burst: they end in the same pass where
// they need several. An answer that began before would wait for each of the others.
func (s *Scheduler) endTogether() bool {
	apart := func(b *branch) bool {
		return b.pending() > eachTogether || s.prefilled-b.prefilledAtEntry > mostTogether
	}
	return s.decoding == 0 && pendingOf(s.prefilling) <= mostTogether && !slices.ContainsFunc(s.prefilling, apart)
}

// pendingOf is how many tokens the KV cache still lacks of some branches.
func pendingOf(branches []*branch) (n int) {
	for _, b := range branches {
		n += b.pending()
	}
	return n
}

// countShort is how many of some branches lack little.
func countShort(branches []*branch) (n int) {
	for _, b := range branches {
		if b.short() {
			n++
		}
	}
	return n
}

// chunkSize is how many prompt tokens this tick computes.
func (s *Scheduler) chunkSize() int {
	if len(s.prefilling) == 0 {
		return 0
	}
	short := countShort(s.prefilling)
	if short < len(s.prefilling) {
		short = 0
	}
	s.speculation.besidePrompts = s.besidePrompts()
	d := &s.demand
	*d = estimator.Demand{Decode: passOf(s.planned), Prompts: d.Prompts[:0], Short: short, Room: s.limits.Batch - s.decoding,
		Apart: s.prefilling[0].atPiece(), Split: s.splitCost(), Target: s.target - s.speculation.besidePrompts, MinShare: s.config.PrefillShare, Neighbours: s.neighbours, Estimator: s.estimator}
	for _, b := range s.prefilling {
		d.Prompts = append(d.Prompts, estimator.Prompt{Tokens: b.computable(), Depth: b.seq.Len()})
	}
	return d.Choose(s.config.Strategy)
}

// passOf is what a forward pass over the scheduled tokens of some branches computes.
func passOf(branches []*branch) estimator.Pass {
	var p estimator.Pass
	for _, b := range branches {
		b.addTo(&p)
	}
	return p
}

// addTo adds the scheduled tokens of a branch to what a pass computes.
func (b *branch) addTo(p *estimator.Pass) {
	n := b.scheduled + len(b.draft())
	p.Tokens += n
	p.Cells += n * (b.seq.Len() + n/2)
}

// secureCells finds KV cells for n tokens of a branch. It evicts idle sequences, then its program's
// other branches; then it takes cells from a parked job, else from the last job, if that comes
// after its own. It returns how many tokens fit, and reserves cells for them for this tick.
func (s *Scheduler) secureCells(b *branch, n int) int {
	for n > 0 && !s.cache.Reserve(s.reserved+n) {
		s.awaitsCopy = s.awaitsCopy || s.cache.Copying()
		if s.cache.Copying() || !s.shelveBranch(b.job, b) && !s.makeRoom(s.chooseVictim(b.job)) {
			n = max(s.cache.Free()-s.reserved, 0)
		}
	}
	s.reserved += n
	return n
}

// preemptible is the last running job that is parked, and so makes no use of its slot; nil if
// there is none.
func (s *Scheduler) preemptible() *job {
	for _, j := range slices.Backward(s.running) {
		if j.parked() {
			return j
		}
	}
	return nil
}

// chooseVictim finds the job to preempt so that j can go on: a parked one, else the last in order
// if that comes after j; nil if there is none.
func (s *Scheduler) chooseVictim(j *job) *job {
	if p := s.preemptible(); p != nil {
		return p
	}
	if last := s.running[len(s.running)-1]; j.before(last) {
		return last
	}
	return nil
}

// outwaited is how long a caller without a slot waits for one who has several.
const outwaited = time.Second

// giveWay preempts running jobs so that a queued job gets their slots. It does so for a job that
// lacks nothing but slots, and whose caller has none and has waited for a while (outwaited). It
// takes the last jobs whose priority is not higher, and only from callers who keep at least as many
// slots as this job gets. It reports false if that does not free enough slots, or it is too early.
// The job has to start before others are looked at: one that was preempted may come before it in
// the queue.
func (s *Scheduler) giveWay(j *job, now time.Time) bool {
	has := map[string]int{}
	for _, r := range s.running {
		has[r.req.Caller] += len(r.branches)
	}
	if has[j.req.Caller] > 0 || j.req.Slot != nil || s.preemptible() != nil || s.hasSlots(j) || !s.fitsCache(j) {
		return false
	}
	if until := j.queued.Add(outwaited); now.Before(until) {
		s.tickAt(until)
		return false
	}
	var giving []*job
	lacking := len(j.branches) - s.freeSlots()
	for _, r := range slices.Backward(s.running) {
		left := has[r.req.Caller] - len(r.branches)
		if lacking > 0 && r.req.Priority <= j.req.Priority && left >= len(j.branches) {
			has[r.req.Caller] = left
			lacking -= len(r.branches)
			giving = append(giving, r)
		}
	}
	if lacking > 0 {
		return false
	}
	for _, r := range giving {
		s.preempt(r)
	}
	return true
}

// makeRoom takes cells from a job: of a program's those of one branch, if there is any that this
// tick does not compute, else its slots.
func (s *Scheduler) makeRoom(j *job) bool {
	return j != nil && !j.parked() && s.shelveBranch(j, nil) || s.preempt(j)
}

// preempt takes a job's slots and queues it again, ahead of all of its priority that came later.
// Its cells become evictable; those still there when it gets a slot again are reused. It reports
// false for nil.
func (s *Scheduler) preempt(j *job) bool {
	if j == nil {
		return false
	}
	for _, b := range j.branches {
		s.leaveOutOfPlan(b)
		b.shelved = true
	}
	s.dropAllButOne(j)
	s.leaveSlots(j)
	j.queued = s.record.Start
	s.queue.push(j)
	s.record.Preempted++
	return true
}

// leaveOutOfPlan takes a branch out of this tick's plan.
func (s *Scheduler) leaveOutOfPlan(b *branch) {
	i := slices.Index(s.planned, b)
	if i < 0 {
		return
	}
	s.planned = slices.Delete(s.planned, i, i+1)
	s.reserved -= b.scheduled
	if i < s.decoding {
		s.decoding--
	}
}
