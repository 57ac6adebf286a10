// SPDX-License-Identifier: MIT

package scheduler

import (
	"fmt"

	"github.com/penstock/penstock/scheduler/kvcache"
)

// This file ends programs, and takes their slots.

// endProgram ends the program of a job that has ended. Its stages are closed when it has returned.
func (s *Scheduler) endProgram(j *job) {
	for _, row := range j.program.lent {
		row.Revoke()
	}
	j.program.lent = nil
	for _, b := range j.branches {
		s.stopSelfRun(b)
	}
	j.program.Interrupt()
	if close(j.program.over); !j.program.Started() {
		j.close()
	}
}

// dropAllButOne drops the branches of a program that loses its slots, except the one that a later
// request is most likely to continue: that which has most of the answer, and of those the longest.
func (s *Scheduler) dropAllButOne(j *job) {
	if j.kind != kindProgram {
		return
	}
	var best *branch
	common := -1
	for _, b := range j.branches {
		if b.seq == nil {
			continue
		}
		n := 0
		if !j.background.Busy() && !b.busy() {
			n = kvcache.CommonPrefix(b.tokens()[:b.seq.Len()], j.answer.Context())
		}
		if n > common || n == common && b.seq.Len() > best.seq.Len() {
			best, common = b, n
		}
	}
	for _, b := range j.branches {
		if b != best {
			s.drop(b)
		}
	}
}

// errProgram refuses what would change an answer that a program writes.
func (j *job) errProgram(what string) error {
	if j.kind == kindAnswer {
		return nil
	}
	return fmt.Errorf("%w: %s an answer that a program writes", ErrBadRequest, what)
}
