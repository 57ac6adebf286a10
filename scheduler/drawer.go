// SPDX-License-Identifier: MIT

package scheduler

import (
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/background"
	"github.com/penstock/penstock/scheduler/chain"
)

// drawer draws the tokens of an answer, or those of a program's branch that goes on by itself.
type drawer struct {
	of         *branch // that the rows are of
	chain      *chain.Chain
	answer     *answer.Answer
	background *background.Sampler // nil: nothing has taken long yet. While it is not idle, chain and answer are its own

	// Of a branch that goes on by itself.
	scored  bool   // the log-probabilities of its tokens are to be kept
	release func() // tells that the chain is not needed any more
}

// owner is the job that the tokens are of.
func (d *drawer) owner() *job { return d.of.job }

// isSelfRun reports whether the tokens are those of a branch that goes on by itself.
func (d *drawer) isSelfRun() bool { return d.release != nil }

// logprobs is how many of the most likely tokens are to be told with each token; -1: no
// log-probabilities.
func (d *drawer) logprobs() int {
	switch {
	case !d.isSelfRun():
		return d.of.job.req.Logprobs
	case d.scored:
		return 0
	}
	return -1
}

// isOver reports whether nobody wants its tokens any more: the answer has ended, or the branch no
// longer goes on by itself.
func (d *drawer) isOver() bool { return d.of.job.done || d.isSelfRun() && d.of.selfRun != d }

// tickDraws reports whether the tick draws the next token itself: there is no need of a background
// sampler. If there is one, that is for what took long, and is at rest.
func (d *drawer) tickDraws() bool {
	if !d.background.Idle() {
		return false
	}
	stages := d.chain.Stages()
	if d.isSelfRun() {
		return chain.Native(stages) && !d.scored
	}
	return !d.of.job.needsBackground(stages)
}

// giveBackground gives a drawer a background sampler for what takes long, unless it has one.
func (s *Scheduler) giveBackground(d *drawer, metered bool) {
	if d.background != nil {
		return
	}
	j := d.of.job
	d.background = background.New(d.chain, d.answer, background.Options{Logprobs: d.logprobs(), Metered: metered, Close: d.release,
		Wake: s.inbox.signal, Failed: func(err error) { s.inbox.post(func(s *Scheduler) { s.fail(j, err) }) }, Loans: &s.sampling.loans})
	s.goroutines.Go(d.background.Run)
}

// backgroundRows are those that the pass has for a background sampler, from the one on that is to
// be drawn from. What a program writes has no draft.
func (s *Scheduler) backgroundRows(d *drawer) background.Rows {
	at, wanted := d.of.outputRow, d.chain.WantsHiddenStates()
	if d.isSelfRun() {
		rows := background.Rows{Logits: [][]float32{s.backend.Row(at)}}
		if wanted {
			rows.States = append(rows.States, s.backend.HiddenState(at)...)
		}
		return rows
	}
	g := &d.of.job.guess
	g.logits, g.states = g.logits[:0], g.states[:0]
	for i := g.row; i <= len(g.draft); i++ {
		g.logits = append(g.logits, s.backend.Row(at+i))
		if wanted { // they are small, and the next pass may come before the background sampler does
			g.states = append(g.states, s.backend.HiddenState(at+i)...)
		}
	}
	return background.Rows{Logits: g.logits, States: g.states, First: g.row, Context: g.at, Draft: g.draft}
}
