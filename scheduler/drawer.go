// SPDX-License-Identifier: MIT

package scheduler

import (
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/worker"
)

// drawer draws the tokens of an answer, or those of a program's branch that goes on by itself.
type drawer struct {
	of     *branch // that the rows are of
	chain  *chain.Chain
	answer *answer.Answer
	worker *worker.Worker // nil: nothing has taken long yet. While it is not idle, chain and answer are its own

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

// tickDraws reports whether the tick draws the next token itself: there is no need of a worker. If
// there is one, that is for what took long, and is at rest.
func (d *drawer) tickDraws() bool {
	if !d.worker.Idle() {
		return false
	}
	stages := d.chain.Stages()
	if d.isSelfRun() {
		return chain.Native(stages) && !d.scored
	}
	return !d.of.job.needsWorker(stages)
}

// giveWorker gives a drawer a worker for what takes long, unless it has one.
func (s *Scheduler) giveWorker(d *drawer, metered bool) {
	if d.worker != nil {
		return
	}
	j := d.of.job
	d.worker = worker.New(d.chain, d.answer, worker.Options{Logprobs: d.logprobs(), Metered: metered, Close: d.release,
		Wake: s.inbox.signal, Failed: func(err error) { s.inbox.post(func(s *Scheduler) { s.fail(j, err) }) }, Loans: &s.sampling.loans})
	s.workers.Go(d.worker.Run)
}

// workerRows are those that the pass has for a worker, from the one on that is to be drawn from.
// What a program writes has no draft.
func (s *Scheduler) workerRows(d *drawer) worker.Rows {
	at, wanted := d.of.outputRow, d.chain.WantsHiddenStates()
	if d.isSelfRun() {
		rows := worker.Rows{Logits: [][]float32{s.backend.Row(at)}}
		if wanted {
			rows.States = append(rows.States, s.backend.HiddenState(at)...)
		}
		return rows
	}
	g := &d.of.job.guess
	g.logits, g.states = g.logits[:0], g.states[:0]
	for i := g.row; i <= len(g.draft); i++ {
		g.logits = append(g.logits, s.backend.Row(at+i))
		if wanted { // they are small, and the next pass may come before the worker does
			g.states = append(g.states, s.backend.HiddenState(at+i)...)
		}
	}
	return worker.Rows{Logits: g.logits, States: g.states, First: g.row, Context: g.at, Draft: g.draft}
}
