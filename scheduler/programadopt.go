// SPDX-License-Identifier: MIT

package scheduler

import (
	"errors"
	"fmt"
	"slices"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/program"
)

// This file has the choices of a program go on without it, as its branches (program.Run.Adopt).
// Their jobs wait for a slot like any other that had one before, and find the cells of the
// branches in the cache.

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
	a.Inject(from.Tokens[has:])
	return nil
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
		s.end(j, *j.held)
	}
}

// becomeOrdinary has a job go on without its program, in a slot of its own.
func (s *Scheduler) becomeOrdinary(j *job) {
	for _, b := range j.branches {
		s.unplan(b)
		s.stopSelfRun(b)
	}
	s.leave(j) // all branches stay in the cache: other choices may go on from them
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
