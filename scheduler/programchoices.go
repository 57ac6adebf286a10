// SPDX-License-Identifier: MIT

package scheduler

import (
	"fmt"
	"slices"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/program"
)

// This file has a program write several answers, the choices of a request. The first is that of
// the program's own job, which has the slots. Each other has a job with a stream, an answer and
// stages, which is in no queue and no slot: it gets what the program shows. It ends with its last
// token; the first one's end is told when all others have ended, or the program has.

// main is the job whose program writes the answer, or the job itself.
func (j *job) main() *job {
	if j.kind == kindChoice {
		return j.program.main
	}
	return j
}

// addChoice makes a job another choice of a program's.
func (j *job) addChoice(other *job) {
	other.branches = []*branch{newBranch(other)}
	other.program = j.program
	j.program.choices = append(j.program.choices, other)
	j.program.AddChoice()
}

// choicesBusy reports whether a background sampler of a program's choices is busy.
func (j *job) choicesBusy() bool {
	return j.background.Busy() || slices.ContainsFunc(j.program.choices, func(c *job) bool { return !c.done && c.background.Busy() })
}

// choicesKeepUp reports whether the readers of all choices do.
func (j *job) choicesKeepUp() bool {
	return j.keepsUp() && (j.kind != kindProgram || !slices.ContainsFunc(j.program.choices, func(c *job) bool { return !c.done && !c.keepsUp() }))
}

// othersGoOn reports whether a choice besides a program's first has not ended.
func (j *job) othersGoOn() bool {
	return slices.ContainsFunc(j.program.choices, func(c *job) bool { return c != j && !c.done })
}

// othersShown is how many tokens were shown of a program's choices besides the first: they are
// those choices' own.
func (j *job) othersShown() (n int) {
	for _, c := range j.program.choices {
		if c != j {
			n += c.counted
		}
	}
	return n
}

// startChoices begins the choices of a program's job besides the first.
func (s *Scheduler) startChoices(j *job) {
	for _, c := range j.program.choices {
		if c == j || c.done {
			continue
		}
		c.started, c.times.admitted = true, j.times.admitted
		c.stream.send(Event{Kind: KindStarted, Started: &Started{Slot: j.branches[0].slot, PromptTokens: c.answer.PromptLen()}})
		s.open(c)
	}
}

// showChoices takes what a program has shown into its choices, and its end.
func (s *Scheduler) showChoices(j *job, shown []program.Shown, returned bool, err error) {
	for i, c := range j.program.choices {
		var mine []program.Shown
		for _, t := range shown {
			if t.Choice == i {
				mine = append(mine, t)
			}
		}
		var from *program.Adopted
		if returned {
			from = j.program.Adopted(i)
		}
		if (len(mine) > 0 || returned) && !c.done {
			s.perform(c, &pendingCall{call: call{work: func(a *answer.Answer) error { show(a, mine, returned, from, err); return nil }}})
		}
	}
}

// show takes what a program has shown into its answer, and its end, or what the answer goes on
// from.
func show(a *answer.Answer, shown []program.Shown, returned bool, from *program.Adopted, err error) {
	for _, t := range shown {
		a.Take(t.Token, t.Logprob)
	}
	switch {
	case err != nil:
		a.Fail(fmt.Errorf("a program: %w", err))
	case from != nil && a.Output().Reason == 0:
		if err := goOnFrom(a, from); err != nil {
			a.Fail(err)
		}
	case returned:
		a.Finish()
	}
}

// endAnswer ends a job whose answer has ended. That of a program goes on for its other choices.
func (s *Scheduler) endAnswer(j *job, e End) {
	if j.kind == kindProgram && j.othersGoOn() {
		j.held = &e
		return
	}
	s.end(j, e)
}

// choiceEnded ends what belongs to a job that has ended: the other choices of its program, or the
// program if it was the last choice.
func (s *Scheduler) choiceEnded(j *job, e End) {
	switch j.kind {
	case kindProgram:
		for _, c := range j.program.choices {
			if c != j {
				s.end(c, End{Reason: e.Reason, Err: e.Err})
			}
		}
	case kindChoice:
		if main := j.program.main; main.held != nil && !main.othersGoOn() {
			s.end(main, *main.held)
		}
	}
}

// tellEnded tells a program which of its choices have ended.
func (j *job) tellEnded() {
	for i, c := range j.program.choices {
		if c.done || c.held != nil {
			j.program.EndChoice(i)
		}
	}
}
