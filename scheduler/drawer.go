// SPDX-License-Identifier: MIT

package scheduler

import (
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/background"
	"github.com/penstock/penstock/scheduler/chain"
)

// drawer draws the tokens of an answer, or those of a program's branch that goes on by itself. The
// answer of a program has one that draws none: its stages are told what the program shows.
type drawer struct {
	job        *job
	branch     *branch // that the rows are of
	chain      *chain.Chain
	answer     *answer.Answer
	background *background.Sampler // nil: nothing has taken long yet. While it is not idle, chain and answer are its own

	forProgram bool   // the tokens are for a program, and for no reader
	logprobs   int    // how many of the most likely tokens are told with each token; -1: no log-probabilities
	release    func() // closes the stages

	rows background.Rows // memory for the background sampler
}

// owner is the job that the tokens are of.
func (d *drawer) owner() *job { return d.job }

// isOver reports whether nobody wants its tokens any more: the answer has ended, or the branch no
// longer goes on by itself.
func (d *drawer) isOver() bool { return d.job.done || d.branch.drawer != d }

// tickDraws reports whether the tick draws the next token itself: there is no need of a background
// sampler. If there is one, that is for what took long, and is at rest.
func (d *drawer) tickDraws() bool {
	return d.background.Idle() && !d.needsBackground(d.chain.Stages())
}

// needsBackground reports whether drawing with these stages needs a goroutine of its own: for
// plugins and stop rules, or for log-probabilities and traces, which cost more than a draw.
func (d *drawer) needsBackground(stages []chain.Stage) bool {
	if d.forProgram {
		return d.logprobs >= 0 || !chain.Native(stages)
	}
	reports := d.job.kind == kindAnswer && (d.logprobs >= 0 || d.job.req.Trace > 0)
	return reports || d.metered(stages)
}

// metered reports whether an answer with these stages has code in it that may take any time:
// plugins, or stop rules. A program's answer may have no stages.
func (d *drawer) metered(stages []chain.Stage) bool {
	quick := chain.Native(stages) || len(stages) == 0 && d.job.kind != kindAnswer
	return !quick || len(d.job.req.Rules) > 0
}

// giveBackground gives a drawer a background sampler for what takes long, unless it has one. The
// stages of a branch that goes on by itself are the host's own, and have no quota.
func (s *Scheduler) giveBackground(d *drawer, metered bool) {
	if d.background != nil {
		return
	}
	d.background = background.New(d.chain, d.answer, background.Options{Logprobs: d.logprobs, Metered: metered && !d.forProgram, Close: d.release,
		Wake: s.inbox.signal, Failed: func(err error) { s.inbox.post(func(s *Scheduler) { s.fail(d.job, err) }) }, Loans: &s.sampling.loans})
	s.goroutines.Go(d.background.Run)
}

// close frees stages and rules. If there is a background sampler, it does that itself: they may be
// at work.
func (d *drawer) close() {
	if d.background != nil {
		d.background.Close()
	} else {
		d.release()
	}
}

// backgroundRows are those that the pass has for a background sampler, from the one on that is to
// be drawn from. What a program writes has no draft.
func (s *Scheduler) backgroundRows(d *drawer) background.Rows {
	g, rows := &d.job.guess, &d.rows
	*rows = background.Rows{Logits: rows.Logits[:0], States: rows.States[:0], First: g.row, Context: g.at, Draft: g.draft}
	for i := d.branch.outputRow + g.row; i <= d.branch.outputRow+len(g.draft); i++ {
		rows.Logits = append(rows.Logits, s.backend.Row(i))
		if d.chain.WantsHiddenStates() { // they are small, and the next pass may come before the background sampler does
			rows.States = append(rows.States, s.backend.HiddenState(i)...)
		}
	}
	return *rows
}
