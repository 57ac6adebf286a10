// SPDX-License-Identifier: MIT

package scheduler

import (
	"slices"
	"time"

	"github.com/penstock/penstock/scheduler/kvcache"
)

// admit moves queued jobs into free slots while the KV cache has room for their prompts. A parked
// job is preempted for them, or one of a caller who has had several slots while another had none.
// If admitting takes long while others generate, the rest wait for the next tick.
func (s *Scheduler) admit(now time.Time) {
	if s.awaitsCopy {
		s.keepTicking(now)
		return // the cells that become free are for running jobs; the next tick admits
	}
	if until := s.heldBack(now); !until.IsZero() {
		s.tickAt(until)
		return
	}
	for j := s.nextToAdmit(now); j != nil; j = s.nextToAdmit(now) {
		if s.config.Clock().Sub(now) > longestAdmission && s.generates() {
			return
		}
		if s.hasSlots(j) && s.fits(j) || s.giveWay(j, now) {
			if !s.start(j, now) {
				return // its sequence waits for a copy, which asks for a tick itself
			}
		} else if !s.preempt(s.preemptibleFor(j)) {
			return // none overtakes: the cells the first one waits for would never come
		}
	}
}

// nextToAdmit is the queued job to admit now: the first that can go on, does not follow a running
// one and can have the slots that it waits for. A job that follows loses nothing by waiting, nor
// when others go before it.
func (s *Scheduler) nextToAdmit(now time.Time) *job {
	for _, j := range s.turns.order(s.queue.jobs, s.running) {
		if j.checkReady() && s.canHaveSlots(j, now) && !s.follows(j) {
			return j
		}
	}
	return nil
}

// longestAdmission is after how long a tick stops admitting if slots generate: they all wait for
// it.
const longestAdmission = 10 * time.Millisecond

// freeSlots is how many slots are free.
func (s *Scheduler) freeSlots() (n int) {
	for _, b := range s.slots {
		if b == nil {
			n++
		}
	}
	return n
}

// hasSlots reports whether the slots for a queued job are free: all of them, or it gets none.
func (s *Scheduler) hasSlots(j *job) bool {
	if j.req.Slot != nil {
		return s.slots[*j.req.Slot] == nil
	}
	return s.freeSlots() >= len(j.branches)
}

// canHaveSlots reports whether a queued job is to be considered. One that waits for a slot of its
// own can have it if nobody is in it, or one who is parked. One that needs several is overtaken
// for a while if there are too few, and then by nobody: the others would take each slot that
// becomes free forever.
func (s *Scheduler) canHaveSlots(j *job, now time.Time) bool {
	if j.req.Slot != nil {
		in := s.slots[*j.req.Slot]
		return in == nil || in.job.parked()
	}
	if len(j.branches) == 1 || now.Sub(j.queued) >= overtaken {
		return true
	}
	available := s.freeSlots()
	for _, r := range s.running {
		if r.parked() {
			available += len(r.branches)
		}
	}
	return available >= len(j.branches)
}

// preemptibleFor is the parked job to preempt for a queued one: who is in its own slot, else the
// last in order; nil if there is none.
func (s *Scheduler) preemptibleFor(j *job) *job {
	if j.req.Slot != nil && s.slots[*j.req.Slot] != nil {
		return s.slots[*j.req.Slot].job
	}
	return s.preemptible()
}

// fits reports whether the KV cache has room for a queued job's tokens beside what the running
// jobs still need.
func (s *Scheduler) fits(j *job) bool {
	if len(s.running) == 0 {
		return true
	}
	tokens := j.answer.Expected()
	need := len(tokens) + headroom*len(j.branches)
	if j.reuses() {
		need -= s.cache.SharedPrefix(tokens, j.scope)
	}
	for _, r := range s.running {
		need += headroom * len(r.branches)
		if !r.background.Busy() {
			need += r.lackedTokens()
		}
	}
	return s.cache.HasRoom(need)
}

// headroom is how many cells admission leaves for each running job to grow into before one must be
// preempted.
const headroom = 16

// start gives a queued job its slots and, unless a program will say what it is for, a sequence. It
// reports false while that waits for a copy.
func (s *Scheduler) start(j *job, now time.Time) bool {
	defer s.blame(j)
	if j.kind == kindAnswer {
		seq, _ := s.cache.Acquire(kvcache.Claim{Tokens: j.answer.Expected(), PromptLen: j.answer.PromptLen(), Scope: j.scope, Reuse: j.reuses(),
			Resumed: j.started, Continued: j.continued})
		if seq == nil {
			return false
		}
		j.branch.seq = seq
	}
	s.queue.remove(j)
	s.enter(j, now)
	return true
}

// enter puts a job into its slots.
func (s *Scheduler) enter(j *job, now time.Time) {
	for _, b := range j.branches {
		if b.slot = slices.Index(s.slots, nil); j.req.Slot != nil {
			b.slot = *j.req.Slot
		}
		s.slots[b.slot] = b
		b.prefilledAtEntry, b.lastChunkTick = s.prefilled, s.ticks
		s.dropUnscored(b)
	}
	i, _ := slices.BinarySearchFunc(s.running, j, compareJobs)
	s.running = slices.Insert(s.running, i, j)
	s.turns.note(j.req.Caller)
	if j.leader = nil; j.started {
		return
	}
	j.started = true
	j.times.admitted = now
	if j.kind == kindAnswer {
		j.cached = min(j.branch.seq.Len(), j.answer.PromptLen())
		j.continued = j.branch.seq.Continued()
	}
	j.stream.send(Event{Kind: KindStarted, Started: &Started{Slot: j.branches[0].slot, PromptTokens: j.answer.PromptLen(), CachedTokens: j.cached}})
	s.open(j)
	if j.kind == kindProgram {
		s.startChoices(j)
		s.openProgram(j)
	}
}

// reuses reports whether the job begins from cells that are in the KV cache. One that was
// preempted looks for its own. One that wants the rows of its prompt computes them.
func (j *job) reuses() bool { return j.req.CachePrompt && !j.branches[0].scoring() || j.started }
