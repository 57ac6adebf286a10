// SPDX-License-Identifier: MIT

package scheduler

import (
	"slices"
	"time"
)

// WaitReason is why a request does not go on now.
type WaitReason string

// What a request may wait for.
const (
	WaitPaused     WaitReason = "paused"  // its client to resume it
	WaitReader     WaitReason = "reader"  // its client to read
	WaitBackground WaitReason = "worker"  // plugins, stop rules, log-probabilities or a trace, which are not ready yet
	WaitQuota      WaitReason = "quota"   // its plugins have used up their processor time for now
	WaitPrompts    WaitReason = "turn"    // the prompts of other slots are computed first
	WaitCells      WaitReason = "cells"   // KV cells
	WaitProgram    WaitReason = "program" // a program, which has not asked for the slot's branch now, or has not opened it
	WaitSlot       WaitReason = "slot"    // in the queue: a slot
	WaitPrefix     WaitReason = "prefix"  // in the queue: another request computes the beginning of the same prompt
)

// slotWait is what a branch in a slot waited for in the last tick; empty: it took part.
func (s *Scheduler) slotWait(b *branch) WaitReason {
	j := b.job
	switch {
	case j.paused:
		return WaitPaused
	case j.background.Busy() || b.busy():
		return WaitBackground
	case j.rest() > 0:
		return WaitQuota
	case j.stalled:
		return WaitReader
	case !b.awake():
		return WaitProgram
	case b.scheduled > 0:
		return ""
	case s.awaitsCopy || s.cache.Free() == 0:
		return WaitCells
	case !b.generating():
		return WaitPrompts
	}
	return "" // it has just come, or come back
}

// inspectQueue describes the jobs that wait for a slot.
func (s *Scheduler) inspectQueue(now time.Time) []QueueInfo {
	if len(s.queue.jobs) == 0 {
		return nil
	}
	noCells := s.lacksCells()
	list := make([]QueueInfo, len(s.queue.jobs))
	for i, j := range s.queue.jobs {
		list[i] = QueueInfo{Stream: j.stream.id, Wait: j.queueWait(noCells), Prompt: j.answer.PromptLen(), Generated: j.counted,
			Priority: j.req.Priority, Age: now.Sub(j.times.submitted)}
	}
	return list
}

// lacksCells reports whether slots are free that queued jobs cannot have, since the first of them
// has no cells yet: none overtakes it.
func (s *Scheduler) lacksCells() bool {
	first := slices.IndexFunc(s.queue.jobs, func(j *job) bool { return !j.paused && !j.stalled && !j.background.Busy() })
	return first >= 0 && slices.Contains(s.slots, nil) && !s.fits(s.queue.jobs[first])
}

// queueWait is what a queued job waits for.
func (j *job) queueWait(noCells bool) WaitReason {
	switch {
	case j.paused:
		return WaitPaused
	case j.stalled:
		return WaitReader
	case j.leader != nil:
		return WaitPrefix
	case noCells && j.req.Slot == nil:
		return WaitCells
	}
	return WaitSlot
}
