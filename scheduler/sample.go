// SPDX-License-Identifier: MIT

package scheduler

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/background"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/panics"
	"github.com/penstock/penstock/scheduler/program"
)

// The tick waits for background samplers, after the native stages are done, for an eighth of the
// time that the tick's passes have taken so far, and at least for minWait. Waiting costs all other
// answers that time. Not waiting costs the late answer a whole pass, and the others the processor
// that its background sampler uses beside the next pass.
const (
	minWait  = time.Millisecond
	waitPart = 8
)

// sampling is what choosing the tokens of one pass needs; its memory is used again in the next.
type sampling struct {
	draws    []Draw         // for native chains
	native   []*drawer      // whose tokens the backend draws
	drawing  []*drawer      // whose background samplers draw
	programs []*job         // whose programs go on
	loans    sync.WaitGroup // rows lent to background samplers
	lent     bool           // rows of the last pass are lent to programs
	alarm    *time.Timer    // ends the wait for background samplers
}

// prepareBackground lets the stages of the jobs that will get a row compute beside the forward
// pass.
func (s *Scheduler) prepareBackground(branches []*branch) {
	for _, b := range branches {
		if d := b.drawer; b.outputRow >= 0 && d != nil && d.background != nil {
			s.runGuarded(func() { // what panics will again when it is drawn for, and the pass goes on
				if !d.tickDraws() {
					d.background.Prepare()
				}
			})
		}
	}
}

// sample draws the next token of every job whose last pending token was computed, takes it into the
// answer and sends it; where that is what was guessed, then the one after it. Tokens of native
// stages are drawn in one call, one of each job; background samplers draw the others meanwhile, and
// what turns out to take long.
func (s *Scheduler) sample(branches []*branch) {
	sampling := &s.sampling
	sampling.native, sampling.drawing, sampling.programs = sampling.native[:0], sampling.drawing[:0], sampling.programs[:0]
	each(s, branches, func(_ int, b *branch) {
		switch d := b.drawer; {
		case b.outputRow < 0:
		case b.drawer == nil:
			s.lendRow(b)
		case d.tickDraws():
			sampling.native = append(sampling.native, d)
		default:
			s.giveBackground(d, true) // its stage has turned out to be slow, or is another now
			s.lendRows(d)
		}
	})
	s.resumePrograms(branches)
	for going := sampling.native; len(going) > 0; {
		going = s.drawNative(going)
	}
	if len(sampling.drawing)+len(sampling.programs) > 0 {
		s.awaitBackground()
	}
}

// lendRows has a background sampler draw from its rows.
func (s *Scheduler) lendRows(d *drawer) {
	d.background.Draw(s.backgroundRows(d))
	s.sampling.drawing = append(s.sampling.drawing, d)
}

// drawNative has the backend draw a token for each of some native chains, and takes it into the
// answer. Those are left that go on with the next row of their draft; for the others it is the last
// token of this tick, and is sent.
func (s *Scheduler) drawNative(drawers []*drawer) (going []*drawer) {
	start := s.config.Clock()
	draws := append(s.sampling.draws[:0], make([]Draw, len(drawers))...)
	for i, d := range drawers {
		draws[i].Row, draws[i].Stage = d.branch.outputRow+d.guess.row, d.chain.Stages()[0]
	}
	s.sampling.draws = draws
	if err := panics.Try(func() error { s.backend.SampleRows(draws); return nil }); err != nil {
		for i := range draws {
			draws[i].Err = err
		}
	}
	now := s.config.Clock()
	s.record.Sample += now.Sub(start)
	going = drawers[:0]
	each(s, drawers, func(i int, d *drawer) {
		switch drawn := &draws[i]; {
		case d.isOver():
			return // another branch of its program was drawn for before it, and has ended all
		case drawn.Err == nil:
			d.answer.Advance(drawn.Token, answer.Details{})
		case errors.Is(drawn.Err, chain.ErrSlow):
			s.giveBackground(d, true)
			s.lendRows(d)
			return
		default:
			d.answer.Fail(drawn.Err)
		}
		if d.followsDraft() {
			going = append(going, d)
		} else {
			s.takeDrawn(d, now)
		}
	})
	return going
}

// awaitBackground waits for the background samplers that draw, but not long, and mostly not for
// those that are late again and again. Those that are late copy their rows, which the next pass
// overwrites.
func (s *Scheduler) awaitBackground() {
	start := s.config.Clock()
	s.sampling.alarm.Reset(max(minWait, s.record.Forward/waitPart))
	rang := false
	for _, d := range s.sampling.drawing {
		for !rang && d.background.Busy() && d.background.Awaited() {
			select {
			case <-d.background.Done():
				s.collectDrawn(d)
			case <-s.sampling.alarm.C:
				rang = true
			}
		}
	}
	for _, j := range s.sampling.programs {
		rang = s.awaitProgram(j, rang)
	}
	s.sampling.alarm.Stop()
	var copies sync.WaitGroup // beside each other: each may be of half a megabyte
	for _, d := range s.sampling.drawing {
		s.collectIfDone(d)
		d.background.Settle()
		if d.background.Busy() {
			copies.Go(d.background.RecallRows)
			s.awaited = append(s.awaited, d) // it skips ticks until its background sampler is done, which wakes the tick
		}
	}
	copies.Wait()
	s.sampling.loans.Wait()
	s.record.Background += s.config.Clock().Sub(start)
}

// drawer draws the tokens of an answer, or those of a program's branch that goes on by itself. The
// answer of a program has one that draws none: its stages are told what the program shows.
type drawer struct {
	job        *job
	branch     *branch // that the rows are of; nil in the drawer of a program's answer, which draws none
	chain      *chain.Chain
	answer     *answer.Answer
	background *background.Sampler // nil: nothing has taken long yet. While it is not idle, chain and answer are its own

	forProgram bool   // the tokens are for a program, and for no reader
	logprobs   int    // how many of the most likely tokens are told with each token; -1: no log-probabilities
	release    func() // closes the stages

	guess guess           // how it goes on
	rows  background.Rows // memory for the background sampler
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
// plugins, stop rules, or filters. A program's answer may have no stages.
func (d *drawer) metered(stages []chain.Stage) bool {
	quick := chain.Native(stages) || len(stages) == 0 && d.job.kind != kindAnswer
	return !quick || len(d.job.req.Rules)+len(d.job.req.Filters) > 0
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

// fail ends a job whose stages could not begin, at once and not after its prompt was computed. A
// busy background sampler does it itself.
func (s *Scheduler) fail(j *job, err error) {
	if !j.done && !j.drawer.background.Busy() {
		j.drawer.answer.Fail(err)
		s.emitOne(j)
	}
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
// be drawn from.
func (s *Scheduler) backgroundRows(d *drawer) background.Rows {
	g, rows := &d.guess, &d.rows
	*rows = background.Rows{Logits: rows.Logits[:0], States: rows.States[:0], First: g.row, Context: g.at, Draft: g.draft}
	for i := d.branch.outputRow + g.row; i <= d.branch.outputRow+len(g.draft); i++ {
		rows.Logits = append(rows.Logits, s.backend.Row(i))
		for _, layer := range d.chain.StateLayers() { // they are small, and the next pass may come before the background sampler does
			rows.States = append(rows.States, s.backend.HiddenState(layer, i)...)
		}
	}
	return *rows
}

// A program's branch may go on by itself (program.Branch.Run). It is then like an answer that
// nobody reads: its tokens are drawn beside those of all answers, by the backend or by a background
// sampler, until it has as many as were asked for, or comes to an end token.

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
	b.drawer = &drawer{job: b.job, branch: b, chain: going.Chain, answer: a, forProgram: true, logprobs: -1, release: going.Release}
	if going.Scored {
		b.drawer.logprobs = 0
	}
	if !b.drawer.tickDraws() {
		s.giveBackground(b.drawer, true) // at once: it has something to prepare beside the first pass
	}
}

// untoldDraws is how many tokens a branch has drawn by itself of which its program was not told.
// What a background sampler is at does not count.
func (b *branch) untoldDraws() int {
	if b.drawer != nil && !b.busy() {
		return b.drawer.answer.Generated()
	}
	return b.state.Drawn
}

// stopSelfRun gives a branch that goes on by itself back to its program.
func (s *Scheduler) stopSelfRun(b *branch) {
	if b.drawer != nil {
		s.dropDraft(b.drawer)
		b.drawer.close()
		b.drawer = nil
	}
}

// settleSelfRun notes what a branch has drawn that goes on by itself.
func (s *Scheduler) settleSelfRun(d *drawer) {
	b := d.branch
	defer s.blame(b.job)
	if d.isOver() {
		return // its program has closed it
	}
	s.settleDraft(d)
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
		s.endJob(b.job, End{Reason: answer.ReasonError, Err: err})
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
