// SPDX-License-Identifier: MIT

package scheduler

import (
	"slices"
	"time"

	"github.com/penstock/penstock/scheduler/kvcache"
)

// admit moves queued jobs into free slots while the KV cache has room for their prompts. A parked job is preempted for
// them. If admitting takes long while others generate, the rest wait for the next tick.
func (s *Scheduler) admit(now time.Time) {
	if s.awaitsCopy {
		s.goOn(now)
		return // the cells that become free are for running jobs; the next tick admits
	}
	if until := s.heldBack(now); !until.IsZero() {
		s.lookAt(until)
		return
	}
	for j := s.next(); j != nil; j = s.next() {
		if s.config.Clock().Sub(now) > longestAdmission && s.generates() {
			return
		}
		slot := s.freeSlot(j)
		if slot >= 0 && s.fits(j) {
			if !s.start(j, slot, now) {
				return // its sequence waits for a copy, which asks for a tick itself
			}
		} else if !s.preempt(s.preemptibleFor(j)) {
			return // none overtakes: the cells the first one waits for would never come
		}
	}
}

// longestAdmission is after how long a tick stops admitting if slots generate: they all wait for it.
const longestAdmission = 10 * time.Millisecond

// freeSlot is the slot for a queued job; -1 if there is none.
func (s *Scheduler) freeSlot(j *job) int {
	if j.req.Slot == nil {
		return slices.Index(s.slots, nil)
	}
	if s.slots[*j.req.Slot] != nil {
		return -1
	}
	return *j.req.Slot
}

// canHaveSlot reports whether a queued job that waits for a slot of its own can have it: nobody is in it, or one who is parked.
func (s *Scheduler) canHaveSlot(j *job) bool {
	if j.req.Slot == nil {
		return true
	}
	in := s.slots[*j.req.Slot]
	return in == nil || in.job.parked()
}

// preemptibleFor is the parked job to preempt for a queued one: who is in its own slot, else the last in order; nil if there is none.
func (s *Scheduler) preemptibleFor(j *job) *job {
	if j.req.Slot != nil && s.slots[*j.req.Slot] != nil {
		return s.slots[*j.req.Slot].job
	}
	return s.preemptible()
}

// fits reports whether the KV cache has room for a queued job's tokens beside what the running jobs still need.
func (s *Scheduler) fits(j *job) bool {
	if len(s.running) == 0 {
		return true
	}
	tokens := j.answer.Expected()
	need := len(tokens) + headroom
	if j.reuses() {
		need -= s.cache.SharedPrefix(tokens, j.scope)
	}
	for _, r := range s.running {
		need += headroom
		if !r.worker.Busy() {
			need += r.lacks()
		}
	}
	return s.cache.HasRoom(need)
}

// headroom is how many cells admission leaves for each running job to grow into before one must be preempted.
const headroom = 16

// start gives a queued job a slot and a sequence. It reports false while the sequence waits for a copy.
func (s *Scheduler) start(j *job, slot int, now time.Time) bool {
	defer s.blame(j)
	seq, _ := s.cache.Acquire(kvcache.Request{Tokens: j.answer.Expected(), PromptLen: j.answer.PromptLen(), Scope: j.scope, Reuse: j.reuses(),
		Resumed: j.started, Continued: j.continued})
	if seq == nil {
		return false
	}
	s.queue.remove(j)
	s.enter(j, slot, seq, now)
	return true
}

// enter puts a job into its slot.
func (s *Scheduler) enter(j *job, slot int, seq *kvcache.Sequence, now time.Time) {
	j.slot, j.seq = slot, seq
	s.dropUnscored(&j.branch)
	s.slots[slot] = &j.branch
	i, _ := slices.BinarySearchFunc(s.running, j, compareJobs)
	s.running = slices.Insert(s.running, i, j)
	j.prefilledAtEntry, j.lastChunkTick, j.leader = s.prefilled, s.ticks, nil
	if j.started {
		return
	}
	j.started = true
	j.times.admitted = now
	j.cached = min(seq.Len(), j.answer.PromptLen())
	j.continued = seq.Continued()
	j.stream.send(Event{Kind: KindStarted, Started: &Started{Slot: slot, PromptTokens: j.answer.PromptLen(), CachedTokens: j.cached}})
	s.open(j)
}

// reuses reports whether the job begins from cells that are in the KV cache. One that was preempted looks for its own. One that wants the
// rows of its prompt computes them.
func (j *job) reuses() bool { return j.req.CachePrompt && !j.scoring() || j.started }
