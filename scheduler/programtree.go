// SPDX-License-Identifier: MIT

package scheduler

import (
	"time"

	"github.com/penstock/penstock/scheduler/program"
)

// Branches tells what has become of the branches of a program.
type Branches struct {
	Grown   []program.Grown
	LeftOut int // in the last one: tokens of branches that were not told, since there were too many
}

// How often branches are told of, and how much at a time.
const (
	growthTime    = 100 * time.Millisecond
	mostEntries   = 256
	mostGrownTold = 1024 // tokens
)

// tellBranches tells the readers of answers with a trace what has become of their programs'
// branches, and asks for a tick when it is time for more.
func (s *Scheduler) tellBranches(now time.Time) {
	for _, jobs := range [2][]*job{s.running, s.queue.jobs} {
		for _, j := range jobs {
			switch {
			case j.kind != kindProgram || j.program.Grown() == 0 || j.stalled:
			case now.Before(j.program.tellAt):
				s.tickAt(j.program.tellAt)
			default:
				j.tellGrown()
				j.program.tellAt = now.Add(growthTime)
				if j.program.Grown() > 0 {
					s.tickAt(j.program.tellAt)
				}
			}
		}
	}
}

// tellGrown tells a job's reader of as much as is told at a time.
func (j *job) tellGrown() {
	j.stream.send(Event{Kind: KindBranches, Branches: &Branches{Grown: j.program.TakeGrown(mostEntries, mostGrownTold)}})
}

// tellAllGrown tells the reader of a job that ends all that is left, and how much was left out.
func (j *job) tellAllGrown() {
	if j.kind != kindProgram {
		return
	}
	for j.program.Grown() > 0 {
		j.tellGrown()
	}
	if n := j.program.LeftOut(); n > 0 {
		j.stream.send(Event{Kind: KindBranches, Branches: &Branches{LeftOut: n}})
	}
}
