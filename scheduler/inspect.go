// SPDX-License-Identifier: MIT

package scheduler

import (
	"context"
	"time"
)

// Stats are the gauges of a scheduler after its last tick.
type Stats struct {
	Running   int
	Waiting   int
	CellsUsed int
	Cells     int
}

// Stats may be called from any goroutine.
func (s *Scheduler) Stats() Stats {
	s.statsMu.Lock()
	defer s.statsMu.Unlock()
	return s.stats
}

func (s *Scheduler) publish() {
	s.statsMu.Lock()
	defer s.statsMu.Unlock()
	s.stats = Stats{Running: len(s.running), Waiting: len(s.queue.jobs), CellsUsed: s.limits.Cells - s.cache.Free(), Cells: s.limits.Cells}
}

// SlotInfo is the state of one slot.
type SlotInfo struct {
	Slot      int
	Stream    string // empty: the slot is free
	Request   uint64 // counts the requests
	Limit     int    // most tokens to generate; 0: until the context is full
	State     string // idle, prefilling, generating, parked: see state
	Prompt    int    // tokens
	Cached    int    // of Prompt, found in the cache
	Computed  int    // tokens in the KV cache
	Generated int
	Sequence  int
	Age       time.Duration // since the request was submitted
}

// Snapshot is what a scheduler is doing.
type Snapshot struct {
	Slots   []SlotInfo
	Waiting int
	Ticks   []TickRecord // the last ones, oldest first, at most 4,096
}

// Inspect describes the slots and the last ticks as they are between two ticks; ticks bounds how many of those. Errors:
// the context's, ErrClosed.
func (s *Scheduler) Inspect(ctx context.Context, ticks int) (Snapshot, error) {
	reply := make(chan Snapshot, 1)
	if !s.inbox.post(func(s *Scheduler) { reply <- s.snapshot(ticks) }) {
		return Snapshot{}, ErrClosed
	}
	select {
	case snap := <-reply:
		return snap, nil
	case <-ctx.Done():
		return Snapshot{}, ctx.Err()
	}
}

func (s *Scheduler) snapshot(ticks int) Snapshot {
	snap := Snapshot{Slots: make([]SlotInfo, len(s.slots)), Waiting: len(s.queue.jobs)}
	now := s.config.Clock()
	for i, j := range s.slots {
		snap.Slots[i] = SlotInfo{Slot: i, State: "idle", Sequence: -1}
		if j != nil {
			snap.Slots[i] = SlotInfo{Slot: i, Stream: j.stream.id, Request: j.arrival, Limit: max(0, j.req.MaxTokens), State: j.state(), Prompt: j.answer.PromptLen(), Cached: j.cached,
				Computed: j.seq.Len(), Generated: j.counted, Sequence: int(j.seq.ID()), Age: now.Sub(j.times.submitted)}
		}
	}
	size := len(s.history.records)
	for i := max(0, s.history.n-min(ticks, size)); i < s.history.n; i++ {
		snap.Ticks = append(snap.Ticks, s.history.records[i%size])
	}
	return snap
}

// state is a job's state as Inspect reports it. "parked" covers all jobs that take no part in the ticks now: those that are parked,
// and those whose worker is busy or rests.
func (j *job) state() string {
	switch {
	case j.parked() || j.worker.Busy() || j.worker.Resting():
		return "parked"
	case j.generating():
		return "generating"
	}
	return "prefilling"
}
