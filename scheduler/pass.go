// SPDX-License-Identifier: MIT

package scheduler

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/panics"
)

// compute runs the planned jobs: in one forward pass, or if the backend is faster that way, first the decode tokens, then
// the prompt tokens. Jobs with other adapters have passes of their own. What a pass gave is sampled and sent before the next begins.
func (s *Scheduler) compute() {
	s.passing = append(s.passing[:0], s.planned...) // preempting changes s.planned
	for rest, decoding := s.passing, s.decoding; len(rest) > 0; {
		n := sameAdapters(rest)
		if decoding > 0 && (s.limits.SeparatePasses || s.limits.AlikeDrafts && s.record.Drafted > 0) {
			n = sameDrafting(rest[:min(n, decoding)])
		}
		s.forward(rest[:n])
		rest, decoding = rest[n:], decoding-n
	}
	s.takeCheckpoints()
}

// forward computes the scheduled tokens of some jobs in one pass, then samples and sends. Those that have lost their slot to a
// pass before are left out. A pass that fails is run again in halves until the guilty job is alone: only that one fails.
func (s *Scheduler) forward(jobs []*job) {
	jobs = slices.DeleteFunc(jobs, func(j *job) bool { return j.seq == nil })
	if len(jobs) == 0 {
		return
	}
	s.fill(jobs)
	took, err := s.pass(jobs)
	if err != nil {
		s.recoverPass(slices.Clone(jobs), err)
		return
	}
	s.learnCost(jobs, took)
	s.noteComputed(jobs)
	s.score()
	s.sample(jobs)
	s.emitSampled(jobs)
}

// fill puts the scheduled tokens of some jobs into the batch, and what was guessed to follow them.
func (s *Scheduler) fill(jobs []*job) {
	s.batch.Reset()
	s.prompts.asks, s.prompts.jobs = s.prompts.asks[:0], s.prompts.jobs[:0] // of a pass that failed
	s.batch.Adapters = jobs[0].with
	for _, j := range jobs {
		at := j.seq.Len()
		tokens := j.answer.Context()
		last, prompt := len(tokens)-1, j.scoring()
		for i := at; i < at+j.scheduled; i++ {
			row := s.batch.Add(tokens[i], int32(i), j.seq.ID(), i == last || prompt && j.wantsRow(i))
			if j.outputRow = row; row >= 0 && i < last {
				s.addPromptRow(j, i, row)
				j.outputRow = -1
			}
		}
		for i, t := range j.guess.draft {
			s.batch.Add(t, int32(last+1+i), j.seq.ID(), true)
		}
	}
}

// pass runs the batch. A panic of the backend is an error like others: the job that it comes from is found the same way.
func (s *Scheduler) pass(jobs []*job) (took time.Duration, err error) {
	start := s.config.Clock()
	err = panics.Try(func() error {
		if err := s.backend.Start(&s.batch); err != nil {
			return err
		}
		s.prepareWorkers(jobs)
		return s.backend.Wait()
	})
	took = s.config.Clock().Sub(start)
	s.record.Forward += took
	s.record.Passes++
	return took, err
}

// learnCost tells the estimator how long a pass over what was scheduled took.
func (s *Scheduler) learnCost(jobs []*job, took time.Duration) {
	switch p := passOf(jobs); {
	case s.batch.PromptRows: // so many rows take longer than a prompt does
	case slices.ContainsFunc(jobs, (*job).drafting):
		s.estimator.ObserveVerify(p, took)
	case jobs[len(jobs)-1].generating(): // those that generate come first
		s.estimator.ObserveDecode(p, took)
	default:
		s.estimator.ObservePrefill(p, took)
	}
}

// noteComputed puts what a pass has computed into the books of the KV cache.
func (s *Scheduler) noteComputed(jobs []*job) {
	for _, j := range jobs {
		at := j.seq.Len()
		s.cache.Append(j.seq, j.answer.Context()[at:at+j.scheduled])
		s.cache.Append(j.seq, j.guess.draft)
		if j.req.Progress && j.answer.Generated() == 0 {
			j.stream.send(Event{Kind: KindProgress, Computed: j.seq.Len()})
		}
	}
}

// recoverPass handles a failed pass. If cells ran out although the books had some, all idle sequences are evicted; if there
// is none, a job is preempted (victim), and its cells go with the next failure's EvictIdle. If the backend was lost, all that run end. After any
// other failure the jobs are run in halves, and the one that fails alone ends.
func (s *Scheduler) recoverPass(jobs []*job, err error) {
	if errors.Is(err, ErrLost) {
		s.lose(err)
		return
	}
	s.repair(jobs) // first: one that is preempted takes what the pass left with it
	noCells := errors.Is(err, ErrNoCells)
	switch {
	case noCells && (s.cache.EvictIdle() || s.preempt(s.victim(slices.MinFunc(jobs, compareJobs)))):
		s.forwardAlike(jobs)
	case len(jobs) > 1:
		half := len(jobs) / 2
		s.forwardAlike(jobs[:half])
		s.forwardAlike(jobs[half:])
	default:
		s.end(jobs[0], End{Reason: answer.ReasonError, Err: fmt.Errorf("%w: %w", ErrPass, err)})
	}
}

// forwardAlike is forward for jobs of a pass that failed. One that lost more of its sequence than the pass may now be where its adapters do
// not count yet.
func (s *Scheduler) forwardAlike(jobs []*job) {
	for len(jobs) > 0 {
		n := sameAdapters(jobs)
		s.forward(jobs[:n:n])
		jobs = jobs[n:]
	}
}

// repair makes the backend forget what a failed pass may have left beyond the positions in the books.
func (s *Scheduler) repair(jobs []*job) {
	for _, j := range jobs {
		if j.seq == nil {
			continue // preempted
		}
		s.cache.Repair(j.seq)
		j.chooseAdapters()
		j.scheduled = min(j.scheduled, j.computable())
		j.guess.draft = nil // one that the pass has not computed
	}
}
