// SPDX-License-Identifier: MIT

package scheduler

import (
	"errors"
	"fmt"
	"slices"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/program"
)

// This file has a program write several answers, the choices of a request. The first belongs to
// the program's own job, which has the slots. Each other has a job with a stream, an answer and
// stages, which is in no queue and no slot: it gets what the program shows. It ends with its last
// token; the first one's end is told when all others have ended, or the program has.
//
// When the program has returned, choices may go on without it, as its branches
// (program.Run.Adopt). Their jobs wait for a slot like any other that had one before, and find the
// cells of the branches in the cache.

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
	return slices.ContainsFunc(j.program.choices, func(c *job) bool { return !c.done && c.background.Busy() })
}

// choicesKeepUp reports whether the readers of all choices do.
func (j *job) choicesKeepUp() bool {
	return !slices.ContainsFunc(j.program.choices, func(c *job) bool { return !c.done && !c.keepsUp() })
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
		s.openAnswer(c)
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
			s.performCall(c, &pendingCall{call: call{work: func(a *answer.Answer) error { show(a, j.program.Name(), mine, returned, from, err); return nil }}})
		}
	}
}

// show takes what the program of that name has shown into its answer, and its end, or what the
// answer goes on from.
func show(a *answer.Answer, name string, shown []program.Shown, returned bool, from *program.Adopted, err error) {
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
		a.Finish(name)
	}
}

// endOthers ends what belongs to a choice that has ended: the other choices of its program with the
// first, or the first if it was the last.
func (s *Scheduler) endOthers(j *job, e End) {
	if main := j.program.main; j != main {
		if main.held != nil && !main.othersGoOn() {
			s.endJob(main, *main.held)
		}
		return
	}
	for _, c := range j.program.choices {
		if c != j {
			s.endJob(c, End{Reason: e.Reason, Err: e.Err})
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

var errNotBegun = errors.New("the answer is not the beginning of the branch that it was to go on from")

// goOnFrom makes a branch the answer.
func goOnFrom(a *answer.Answer, from *program.Adopted) error {
	if from.From == 0 {
		return nil // from where it is
	}
	prompt := from.Tokens[:from.From]
	if !slices.Equal(prompt, a.Tokens()[:a.PromptLen()]) {
		if err := a.Rebase(slices.Clone(prompt)); err != nil {
			return err
		}
	}
	has := len(a.Tokens())
	if has > len(from.Tokens) || !slices.Equal(a.Tokens(), from.Tokens[:has]) { // another plugin has changed it
		return fmt.Errorf("a program: %w", errNotBegun)
	}
	return a.Inject(from.Tokens[has:])
}

// freeChoices takes the choices from a program that go on without it.
func (s *Scheduler) freeChoices(j *job) (free []*job) {
	for i, c := range j.program.choices {
		if !c.done && c.held == nil && j.program.Adopted(i) != nil {
			free = append(free, c)
		}
	}
	return free
}

// leaveProgram ends the program of a job, which has returned, and has the choices go on that were
// adopted. It does nothing where one is still told of its last tokens.
func (s *Scheduler) leaveProgram(j *job) {
	free := s.freeChoices(j)
	if len(free) == 0 {
		return // the choices end, and the job with the last
	}
	for _, c := range free {
		if c != j {
			c.drawByItself()
			c.program, c.scope, c.cached = nil, j.scope, 0
			j.program.choices = slices.DeleteFunc(j.program.choices, func(o *job) bool { return o == c })
			c.queued = s.record.Start
			s.queue.push(c)
		}
	}
	if free[0] == j {
		s.becomeOrdinary(j)
	} else if j.held != nil && !j.othersGoOn() {
		s.endJob(j, *j.held)
	}
}

// becomeOrdinary has a job go on without its program, in a slot of its own.
func (s *Scheduler) becomeOrdinary(j *job) {
	for _, b := range j.branches {
		s.leaveOutOfPlan(b)
		s.stopSelfRun(b)
	}
	s.leaveSlots(j) // all branches stay in the cache: other choices may go on from them
	s.inbox.ended(j.req.Caller, len(j.branches)-1)
	p := j.program
	for _, row := range p.lent {
		row.Revoke()
	}
	j.spent, j.opened = p.Used()
	j.tellAllGrown()
	p.adopted = true
	close(p.over)
	j.drawByItself()
	j.program = nil
	j.queued = s.record.Start
	s.queue.push(j)
}
