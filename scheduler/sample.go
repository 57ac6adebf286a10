// SPDX-License-Identifier: MIT

package scheduler

import (
	"errors"
	"fmt"
	"time"
)

var errNoCandidate = errors.New("the sampler chain chose no token")

// sample draws the next token of every job whose last pending token was computed. Chains of one native stage are drawn in
// one call; the others run one after another.
func (s *Scheduler) sample(jobs []*job) {
	start := s.config.Clock()
	s.draws, s.drawJobs = s.draws[:0], s.drawJobs[:0]
	for _, j := range jobs {
		if j.row < 0 || j.done {
			continue
		}
		if j.req.Logprobs >= 0 {
			j.raw = append(j.raw[:0], s.backend.Row(j.row)...) // stages may write to the row
		}
		if len(j.req.Chain) == 1 && j.req.Chain[0].Native() {
			s.draws = append(s.draws, Draw{Row: j.row, Stage: j.req.Chain[0]})
			s.drawJobs = append(s.drawJobs, j)
			continue
		}
		j.token, j.err = s.runChain(j)
	}
	if len(s.draws) > 0 {
		s.backend.SampleRows(s.draws)
	}
	for i, j := range s.drawJobs {
		j.token, j.err = s.draws[i].Token, s.draws[i].Err
	}
	s.record.Sample += s.config.Clock().Sub(start)
}

// runChain runs the stages of a job in order until one of them chooses.
func (s *Scheduler) runChain(j *job) (Token, error) {
	v := &s.view
	v.Row, v.N, v.Chosen = s.backend.Row(j.row), -1, -1
	for _, stage := range j.req.Chain {
		if err := stage.Apply(v); err != nil {
			return -1, err
		}
		if v.Chosen >= 0 {
			return v.Chosen, nil
		}
	}
	return -1, errNoCandidate
}

// emit accepts the drawn tokens and shows what they add to the answers.
func (s *Scheduler) emit(jobs []*job) {
	now := s.config.Clock()
	for _, j := range jobs {
		if j.row < 0 || j.done {
			continue
		}
		if j.err == nil && (j.token < 0 || int(j.token) >= s.limits.Vocabulary) {
			j.err = fmt.Errorf("a stage chose token %d, which is not in the vocabulary of %d", j.token, s.limits.Vocabulary)
		}
		if j.err != nil {
			s.fail(j, j.err)
			continue
		}
		s.accept(j, j.token, now)
	}
}

// accept takes a drawn token into the answer, or ends the answer at it.
func (s *Scheduler) accept(j *job, t Token, now time.Time) {
	s.clock(j, now)
	if s.endsAnswer(j, t) {
		j.generated++
		s.end(j, End{Reason: ReasonStop})
		return
	}
	var logprobs *Logprobs
	if j.req.Logprobs >= 0 {
		logprobs = newLogprobs(j.raw, t, j.req.Logprobs)
	}
	s.grow(j, t, logprobs)
}

// grow appends a token to an answer, sends what it shows, and ends the answer where it is the last.
func (s *Scheduler) grow(j *job, t Token, logprobs *Logprobs) {
	for _, stage := range j.req.Chain {
		if err := stage.Accept(t); err != nil {
			s.fail(j, err)
			return
		}
	}
	j.generated++
	j.tokens = append(j.tokens, t)
	seen, err := j.text.add(t, s.backend.Piece(t))
	if err != nil {
		s.fail(j, fmt.Errorf("a stop rule: %w", err))
		return
	}
	j.stream.send(Event{Kind: KindToken, Token: t, Text: seen.text, Logprobs: logprobs})
	switch {
	case seen.end:
		j.text.forget()
		s.end(j, End{Reason: ReasonStop, Stop: seen.stop})
	case j.full(s.longest()):
		s.end(j, End{Reason: ReasonLength})
	}
}

// fail ends a job whose stages or rules gave an error.
func (s *Scheduler) fail(j *job, err error) {
	s.end(j, End{Reason: ReasonError, Err: fmt.Errorf("sampling failed: %w", err)})
}

func (s *Scheduler) endsAnswer(j *job, t Token) bool {
	if !j.req.IgnoreEOG && s.backend.EndOfGeneration(t) {
		return true
	}
	for _, stop := range j.req.StopTokens {
		if t == stop {
			return true
		}
	}
	return false
}

// clock notes when a token came and reports the latency it had.
func (s *Scheduler) clock(j *job, now time.Time) {
	if j.first.IsZero() {
		j.first = now
		s.config.Observer.First(now.Sub(j.submitted))
	} else {
		s.config.Observer.Token(now.Sub(j.last))
	}
	j.last = now
}

// longest is how many tokens a conversation may have.
func (s *Scheduler) longest() int { return min(s.limits.Context, s.limits.Cells) }
