// SPDX-License-Identifier: MIT

package scheduler

import (
	"errors"
	"sync"
	"time"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/panics"
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
		if d := b.drawer; b.outputRow >= 0 && b.driver == driverDrawer && d.background != nil {
			s.attempt(func() { // what panics will again when it is drawn for, and the pass goes on
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
		case b.driver == driverProgram:
			s.lendRow(b)
		case d.tickDraws():
			sampling.native = append(sampling.native, d)
		default:
			s.giveBackground(d, true) // its stage has turned out to be slow, or is another now
			s.lend(d)
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

// lend has a background sampler draw from its rows.
func (s *Scheduler) lend(d *drawer) {
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
		draws[i].Row, draws[i].Stage = d.branch.outputRow+d.job.guess.row, d.chain.Stages()[0]
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
			s.lend(d)
			return
		default:
			d.answer.Fail(drawn.Err)
		}
		if d.followsDraft() {
			going = append(going, d)
		} else {
			s.settle(d, now)
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
				s.collect(d)
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
