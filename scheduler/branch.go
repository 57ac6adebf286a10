// SPDX-License-Identifier: MIT

package scheduler

import (
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/program"
)

// driver says who goes on with a branch.
type driver uint8

const (
	driverProgram driver = iota // its program, which reads its rows while it waits for the branch
	driverDrawer                // a drawer: the branch goes on by itself
)

// branch is a list of tokens on its way into the KV cache: what a slot computes. Jobs wait, are
// preempted and end as a whole; their branches are what a tick plans.
//
// seq holds the KV cells of the first part of the tokens. Tokens that are not in seq are pending:
// many tokens while prefilling or after a preemption, exactly one while generating.
type branch struct {
	job    *job
	driver driver
	drawer *drawer // with driverDrawer

	// What each tick looks at comes first, in branch and job: with many slots the processor's
	// caches have no room for all of a job.
	seq       *kvcache.Sequence // nil while it has no cells
	slot      int               // -1 while its job is queued
	scheduled int               // tokens in this tick's batch
	outputRow int               // output row of this tick's pass, -1 for none
	with      Adapters          // that compute what is scheduled

	prefilledAtEntry int // Scheduler.prefilled when it got the slot
	lastChunkTick    int // Scheduler.ticks when it last got a part of a chunk, or else the slot

	// Of a program's branch.
	state    program.Kept
	shelved  bool // it has lost cells for want of others: it gets some again when there is room for all
	scoredTo int  // no score of a token before is yet to be computed
}

func newBranch(j *job) *branch { return &branch{job: j, slot: -1, outputRow: -1} }

// owner is the job that the branch is of.
func (b *branch) owner() *job { return b.job }

// tokens are those that the branch is to hold.
func (b *branch) tokens() []Token {
	if b.driver == driverDrawer {
		return b.drawer.answer.Context()
	}
	return b.state.Tokens
}

// computed is how many of them the KV cache holds.
func (b *branch) computed() int {
	if b.seq == nil {
		return 0
	}
	return b.seq.Len()
}

// pending is how many tokens the KV cache still lacks.
func (b *branch) pending() int { return len(b.tokens()) - b.computed() }

// sequence is the number of its sequence in the KV cache, or -1.
func (b *branch) sequence() int {
	if b.seq == nil {
		return -1
	}
	return int(b.seq.ID())
}

// awake reports whether the branch is to be computed: it goes on by itself, or its program waits
// for it.
func (b *branch) awake() bool { return b.driver == driverDrawer || b.state.Wanted }

// busy reports whether a background sampler draws the branch's next token: its tokens are the
// background sampler's.
func (b *branch) busy() bool { return b.driver == driverDrawer && b.drawer.background.Busy() }

// generates is generating, but also true while a background sampler draws the branch's next token,
// when its tokens cannot be looked at.
func (b *branch) generates() bool { return b.busy() || b.generating() }

// generating reports whether the branch computes one token a tick; one that does not is prefilling.
// So is an answer's until its first token.
func (b *branch) generating() bool {
	begun := b.job.kind == kindProgram || b.job.answer.Generated() > 0
	return begun && b.awake() && b.pending() == 1
}

// told is the number of a program's branch, as its reader knows it where the answer has a trace,
// and how many tokens it has.
func (b *branch) told() (number uint64, tokens int) {
	if number = b.state.Number; b.state.Told > 0 {
		number = uint64(b.state.Told)
	}
	return number, len(b.state.Tokens)
}

// drafting reports whether guessed tokens are computed after the branch's own in this tick.
func (b *branch) drafting() bool { return len(b.job.guess.draft) > 0 }
