// SPDX-License-Identifier: MIT

package scheduler

import "github.com/penstock/penstock/scheduler/kvcache"

// branch is a list of tokens on its way into the KV cache: what a slot computes. Jobs wait, are
// preempted and end as a whole; their branches are what a tick plans.
//
// seq holds the KV cells of the first part of the tokens. What is not in seq is pending: many tokens
// while prefilling or after a preemption, exactly one while generating.
type branch struct {
	job *job

	slot      int               // -1 while its job is queued
	seq       *kvcache.Sequence // nil while it has no cells
	scheduled int               // tokens in this tick's batch
	outputRow int               // output row of this tick's pass, -1 for none
	with      Adapters          // that compute what is scheduled

	prefilledAtEntry int // Scheduler.prefilled when it got the slot
	lastChunkTick    int // Scheduler.ticks when it last got a part of a chunk, or else the slot
}

// owner is the job that the branch is of.
func (b *branch) owner() *job { return b.job }

// context is the tokens that the branch is to hold.
func (b *branch) context() []Token { return b.job.answer.Context() }

// pending is how many tokens the KV cache still lacks.
func (b *branch) pending() int { return len(b.context()) - b.seq.Len() }

// generating reports whether the branch computes one token a tick; one that does not is prefilling.
func (b *branch) generating() bool { return b.job.answer.Generated() > 0 && b.pending() == 1 }

// drafting reports whether guessed tokens are computed after the branch's own in this tick.
func (b *branch) drafting() bool { return len(b.job.guess.draft) > 0 }
