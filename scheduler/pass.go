// SPDX-License-Identifier: MIT

package scheduler

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/estimator"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/panics"
)

// forwardPass is what computing takes, in memory that is reused.
type forwardPass struct {
	estimator *estimator.Estimator
	passing   []*branch // planned as it was before the passes
	batch     Batch
	cost      estimator.Pass // of the batch
	drafting  bool           // guessed tokens are in it
	drafted   bool           // they were in the pass before

	checkpointing time.Duration // that taking checkpoints may take
}

// compute runs the planned branches: in one forward pass, or if the backend is faster that way,
// first the decode tokens, then the prompt tokens. Those with other adapters have passes of their
// own, and so has each piece of a picture, and slots with drafts, where draftsApart says so. A pass
// that fails is repeated in halves. What a pass gave is sampled and sent before the next begins.
func (s *Scheduler) compute() {
	s.passing = append(s.passing[:0], s.planned...) // preempting changes s.planned
	s.speculation.promptTime = 0
	for rest, decoding := s.passing, s.decoding; len(rest) > 0; {
		n := sameKind(rest)
		if decoding > 0 && (s.limits.SeparatePasses || s.limits.AlikeDrafts && s.record.Drafted > 0) {
			n = sameDrafting(rest[:min(n, decoding)])
		}
		s.forward(rest[:n])
		rest, decoding = rest[n:], decoding-n
	}
	s.takeCheckpoints()
}

// forward computes the scheduled tokens of some branches in one pass, then samples and sends.
// Those that have lost their slot to a pass before are left out. A pass that fails is run again in
// halves until the guilty branch is alone: only its job fails.
func (s *Scheduler) forward(branches []*branch) {
	branches = slices.DeleteFunc(branches, func(b *branch) bool { return b.seq == nil || b.scheduled == 0 })
	if len(branches) == 0 {
		return
	}
	err := panics.Try(func() error { return s.fillBatch(branches) })
	var took time.Duration
	if err == nil {
		took, err = s.runBatch(branches)
	}
	if err != nil {
		s.recoverPass(slices.Clone(branches), err)
		return
	}
	s.learnCost(branches, took)
	s.noteComputed(branches)
	s.score()
	s.sample(branches)
}

// fillBatch puts the scheduled tokens of some branches into the batch, and what was guessed to
// follow them. It fails for a piece whose numbers are gone.
func (s *Scheduler) fillBatch(branches []*branch) error {
	s.batch.Reset()
	s.cost, s.drafting = estimator.Pass{}, false
	s.promptRows.asks, s.promptRows.branches = s.promptRows.asks[:0], s.promptRows.branches[:0] // of a pass that failed
	s.batch.Adapters = branches[0].with
	if branches[0].atPiece() {
		return s.fillPiece(branches[0])
	}
	for _, b := range branches {
		b.addTo(&s.cost)
		at := b.seq.Len()
		before := at - b.seq.Position() // positions fewer than tokens
		tokens := b.tokens()
		last, prompt := len(tokens)-1, b.wantsPromptRows()
		for i := at; i < at+b.scheduled; i++ {
			row := s.batch.Add(tokens[i], int32(i-before), b.seq.ID(), i == last || prompt && b.wantsRow(i))
			if b.outputRow = row; row >= 0 && i < last {
				s.addPromptRow(b, i, row)
				b.outputRow = -1
			}
		}
		for i, t := range b.draft() {
			s.drafting = true
			s.batch.Add(t, int32(last+1+i-before), b.seq.ID(), true)
		}
		if b.outputRow >= 0 {
			s.batch.WantStates(b.stateLayers()...)
		}
	}
	return nil
}

// stateLayers are the layers whose hidden states are wanted beside the logits of the branch's row.
func (b *branch) stateLayers() []int32 {
	switch {
	case b.drawer != nil:
		return b.drawer.chain.StateLayers()
	case b.job.program.HiddenState() > 0:
		return []int32{b.job.program.StateLayer()}
	}
	return nil
}

// runBatch runs the batch. A panic of the backend is an error like others: the branch that it comes
// from is found the same way.
func (s *Scheduler) runBatch(branches []*branch) (took time.Duration, err error) {
	s.recallRows()
	start := s.config.Clock()
	err = panics.Try(func() error {
		if err := s.backend.Start(&s.batch); err != nil {
			return err
		}
		s.prepareBackground(branches)
		return s.backend.Wait()
	})
	took = s.config.Clock().Sub(start)
	s.record.Forward += took
	s.record.Passes++
	return took, err
}

// learnCost tells the estimator how long the pass over the batch took. One without drafts next to
// one with drafts is of another size: that tells what this costs, and not what the pass does.
func (s *Scheduler) learnCost(branches []*branch, took time.Duration) {
	if !branches[0].generating() {
		s.speculation.promptTime += took
	}
	switch {
	case s.batch.PromptRows: // so many rows take longer than a prompt does
	case s.drafting:
		s.estimator.ObserveVerify(s.cost, took)
	case !branches[len(branches)-1].generating(): // those that generate come first
		s.estimator.ObservePrefill(s.cost, took)
	case s.drafted || s.record.Drafted > 0:
		s.estimator.ObserveReplan(s.cost, took)
	default:
		s.estimator.ObserveDecode(s.cost, took)
	}
	s.drafted = s.drafting
}

// noteComputed puts what a pass has computed into the tick's record and the books of the KV cache.
func (s *Scheduler) noteComputed(branches []*branch) {
	each(s, branches, func(_ int, b *branch) {
		j, at := b.job, b.seq.Len()
		if b.generating() {
			s.record.Decode += b.scheduled
		} else {
			s.record.Prefill += b.scheduled
		}
		s.cache.Append(b.seq, b.tokens()[at:at+b.scheduled])
		if s.drafting {
			s.cache.Append(b.seq, b.draft())
		}
		if j.req.Progress && j.kind == kindAnswer && j.drawer.answer.Generated() == 0 {
			j.stream.send(Event{Kind: KindProgress, Computed: b.seq.Len()})
		}
	})
}

// recoverPass handles a failed pass. If cells ran out although the books had some, all idle
// sequences are evicted; if there is none, a job is preempted (chooseVictim), and its cells go with
// the next failure's EvictIdle. If the backend was lost, all that run end. After any other failure
// the branches are run in halves, and the job of the one that fails alone ends.
func (s *Scheduler) recoverPass(branches []*branch, err error) {
	if errors.Is(err, ErrLost) {
		s.loseBackend(err)
		return
	}
	s.repairBackend(branches) // first: one that is preempted takes what the pass left with it
	noCells := errors.Is(err, ErrNoCells)
	switch {
	case noCells && (s.cache.EvictIdle() || s.preempt(s.chooseVictim(firstJob(branches)))):
		s.forwardAlike(branches)
	case len(branches) > 1:
		half := len(branches) / 2
		s.forwardAlike(branches[:half])
		s.forwardAlike(branches[half:])
	default:
		s.endJob(branches[0].job, End{Reason: answer.ReasonError, Err: fmt.Errorf("%w: %w", ErrPass, err)})
	}
}

// firstJob is the job that is served first of those of some branches.
func firstJob(branches []*branch) *job {
	return slices.MinFunc(branches, func(a, b *branch) int { return compareJobs(a.job, b.job) }).job
}

// forwardAlike is forward for branches of a pass that failed. One that lost more of its sequence
// than the pass may now be where its adapters do not count yet, or at a piece.
func (s *Scheduler) forwardAlike(branches []*branch) {
	for len(branches) > 0 {
		n := sameKind(branches)
		s.forward(branches[:n:n])
		branches = branches[n:]
	}
}

// repairBackend makes the backend forget what a failed pass may have left beyond the positions in
// the books.
func (s *Scheduler) repairBackend(branches []*branch) {
	for _, b := range branches {
		if b.seq == nil {
			continue // preempted
		}
		s.cache.Repair(b.seq)
		b.chooseAdapters()
		b.scheduled = min(b.scheduled, b.computable())
		b.scheduled = b.fitWhole() // none of it: a later tick computes it
		if b.drawer != nil {
			b.drawer.guess.draft = nil // one that the pass has not computed
		}
	}
}

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
	from := j.drawer.answer.ContextIndex(j.req.AdaptersFrom)
	if from == j.scope.From {
		return
	}
	if j.scope.From = from; j.drawer.branch.seq != nil {
		s.cache.Rescope(j.drawer.branch.seq, j.scope)
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

const (
	checkpointShare   = 8                     // taking checkpoints takes at most one of so many parts of the time,
	longestCheckpoint = 10 * time.Millisecond // and at once at most so long,
	checkpointPasses  = 4                     // or, if that is more, one of so many parts of a tick's passes
)

// takeCheckpoints takes those checkpoints that are due, as far as there is time.
func (s *Scheduler) takeCheckpoints() {
	if !s.cache.TakesCheckpoints() {
		return
	}
	s.checkpointing = min(s.checkpointing+s.record.Forward/checkpointShare, max(longestCheckpoint, s.record.Forward/checkpointPasses))
	each(s, s.order, func(_ int, j *job) {
		for _, b := range j.branches {
			if b.seq != nil { // else it has left its slot
				s.checkpointing -= s.cache.Checkpoint(b.seq, s.checkpointing)
			}
		}
	})
}
