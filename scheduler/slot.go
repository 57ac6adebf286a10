// SPDX-License-Identifier: MIT

package scheduler

import "slices"

// leave takes a job out of its slots, where its cells stay as prefix cache, or out of the queue.
func (s *Scheduler) leave(j *job) {
	if !j.inSlot() {
		s.queue.remove(j)
		return
	}
	s.dropDraft(j)
	s.running = slices.DeleteFunc(s.running, func(r *job) bool { return r == j })
	for _, b := range j.branches {
		s.vacate(b)
	}
	if len(s.slotActions) > 0 {
		s.keepTicking(s.record.Start) // at once: one may wait for this slot
	}
}

// vacate takes a branch out of its slot.
func (s *Scheduler) vacate(b *branch) {
	s.slots[b.slot], s.conversations[b.slot] = nil, 0
	if b.seq != nil {
		s.cache.Release(b.seq)
		s.conversations[b.slot] = b.seq.Conversation()
	}
	b.seq, b.slot, b.outputRow, b.scheduled = nil, -1, -1, 0
}

// generates reports whether any slot generates.
func (s *Scheduler) generates() bool { return slices.ContainsFunc(s.running, (*job).generates) }
