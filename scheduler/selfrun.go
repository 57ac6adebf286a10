// SPDX-License-Identifier: MIT

package scheduler

import (
	"errors"
	"slices"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/program"
)

// This file has a program's branches go on by themselves (program.Branch.Run). Such a branch is
// like an answer that nobody reads: its tokens are drawn beside those of all answers, by the
// backend or by a background sampler, until it has as many as were asked for, or comes to an end
// token.

// ends reports whether a token ends the answer to a request.
func ends(v answer.Vocabulary, r *Request, t Token) bool {
	return !r.IgnoreEOG && v.EndOfGeneration(t) || slices.Contains(r.StopTokens, t)
}

// runBranch has a branch go on by itself if its program wants that.
func (s *Scheduler) runBranch(b *branch, of *program.Branch) {
	going := of.TakeRun()
	if going == nil {
		return
	}
	r := &b.job.req
	tokens := slices.Grow(slices.Clip(b.state.Tokens), going.Most)
	a := answer.New(going.Chain, tokens, answer.Settings{MaxTokens: going.Most, StopTokens: r.StopTokens, IgnoreEOG: r.IgnoreEOG,
		Longest: s.limits.longest(), VocabularySize: s.limits.Vocabulary, Vocabulary: s.backend})
	b.driver, b.drawer = driverDrawer, &drawer{job: b.job, branch: b, chain: going.Chain, answer: a, forProgram: true, logprobs: -1, release: going.Release}
	if going.Scored {
		b.drawer.logprobs = 0
	}
	if !b.drawer.tickDraws() {
		s.giveBackground(b.drawer, false) // at once: it has something to prepare beside the first pass
	}
}

// drawn is how many tokens a branch has drawn by itself of which its program was not told. What a
// background sampler is at does not count.
func (b *branch) drawn() int {
	if b.driver == driverDrawer && !b.busy() {
		return b.drawer.answer.Generated()
	}
	return b.state.Drawn
}

// stopSelfRun gives a branch that goes on by itself back to its program.
func (s *Scheduler) stopSelfRun(b *branch) {
	if b.driver == driverDrawer {
		b.drawer.close()
		b.driver, b.drawer = driverProgram, nil
	}
}

// settleSelfRun notes what a branch has drawn that goes on by itself.
func (s *Scheduler) settleSelfRun(d *drawer) {
	b := d.branch
	defer s.blame(b.job)
	if d.isOver() {
		return // its program has closed it
	}
	out := d.answer.Output()
	reason, err := out.Reason, out.Err
	out.Reset()
	state := &b.state
	switch {
	case reason == 0:
		return
	case errors.Is(err, chain.ErrNoToken) || errors.Is(err, chain.ErrNotAllowed):
		state.Finished = program.Stuck
	case err != nil:
		s.end(b.job, End{Reason: answer.ReasonError, Err: err})
		return
	case reason == answer.ReasonStop:
		state.Finished = program.Ended
	default:
		state.Finished = program.Ran
	}
	state.Tokens = d.answer.Tokens()
	if d.logprobs >= 0 {
		state.Score(d.answer.PromptLen(), d.answer.Answered().Logprobs)
	}
	state.Drawn = d.answer.Generated()
	s.stopSelfRun(b)
	s.goOnWithProgram(b.job)
}
