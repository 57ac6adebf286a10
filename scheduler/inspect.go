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

// SlotInfo is the state of one slot.
type SlotInfo struct {
	Slot      int
	Branch    uint64     // of a program: which of its branches the slot computes, from 1; 0: none, or the answer is no program's
	Tokens    int        // of the branch
	Stream    string     // empty: the slot is free
	Request   uint64     // counts the requests
	Limit     int        // most tokens to generate; 0: until the context is full
	State     string     // idle, prefilling, generating, parked: see activity
	Wait      WaitReason // why it takes no part in the ticks now; empty: it does
	Prompt    int        // tokens
	Cached    int        // of Prompt, found in the cache
	Computed  int        // tokens in the KV cache
	Generated int
	Drafted   int // tokens that were guessed of it and computed
	Accepted  int // of Drafted, those that are part of the answer
	Sequence  int
	Priority  int
	Lasting   []string      // names of the stages that stay as long as the answer goes on, as plugins do; not to be changed
	Age       time.Duration // since the request was submitted
	Decoding  time.Duration // since its first token; 0: there is none
}

// QueueInfo is the state of a request that waits for a slot.
type QueueInfo struct {
	Stream    string
	Wait      WaitReason
	Prompt    int // tokens
	Generated int // before it lost its slot
	Priority  int
	Age       time.Duration // since the request was submitted
}

// Snapshot is what a scheduler is doing.
type Snapshot struct {
	Slots       []SlotInfo
	Queue       []QueueInfo  // in the order they are served
	Ticks       []TickRecord // the last ones, oldest first, at most 4,096
	TickCount   int          // all ticks so far that computed something
	Cells       int          // KV cells in all
	CellsUsed   int          // that hold something
	Speculates  bool         // tokens of answers are guessed
	CellsCached int          // of CellsUsed, held by idle sequences alone: they are evicted when others need them
}

// Inspect describes the slots, the queue and the last ticks as they are between two ticks; ticks
// bounds how many of those. Errors: the context's, ErrClosed.
func (s *Scheduler) Inspect(ctx context.Context, ticks int) (Snapshot, error) {
	reply := make(chan Snapshot, 1)
	if err := s.ask(ctx, func(s *Scheduler) { reply <- s.snapshot(ticks) }); err != nil {
		return Snapshot{}, err
	}
	return <-reply, nil
}

func (s *Scheduler) snapshot(ticks int) Snapshot {
	snap := Snapshot{Slots: make([]SlotInfo, len(s.slots)), TickCount: s.history.n, Speculates: s.speculation.drafter != nil,
		Cells: s.limits.Cells, CellsUsed: s.limits.Cells - s.cache.Free(), CellsCached: s.cache.Evictable()}
	now := s.config.Clock()
	for i, b := range s.slots {
		snap.Slots[i] = SlotInfo{Slot: i, State: "idle", Sequence: -1}
		if b != nil {
			j := b.job
			snap.Slots[i] = SlotInfo{Slot: i, Stream: j.stream.id, Request: j.arrival, Limit: max(0, j.req.MaxTokens), State: b.activity(), Wait: s.slotWait(b),
				Prompt: j.answer.PromptLen(), Cached: j.cached, Computed: b.computed(), Generated: j.counted, Drafted: j.drafted, Accepted: j.accepted, Sequence: b.sequence(),
				Priority: j.req.Priority, Lasting: j.lasting, Age: now.Sub(j.times.submitted), Decoding: j.times.timing(now).Decode}
			snap.Slots[i].Branch, snap.Slots[i].Tokens = b.told()
		}
	}
	snap.Queue = s.inspectQueue(now)
	size := len(s.history.records)
	first := max(0, s.history.n-min(ticks, size))
	snap.Ticks = make([]TickRecord, 0, s.history.n-first)
	for i := first; i < s.history.n; i++ {
		snap.Ticks = append(snap.Ticks, s.history.records[i%size])
	}
	return snap
}

// activity is a branch's state as Inspect reports it. "parked" covers those of all jobs that take
// no part in the ticks now, more than job.parked does: those that are parked, those whose
// background sampler is busy or rests, and those that their program has not asked for.
func (b *branch) activity() string {
	j := b.job
	switch {
	case j.parked() || j.background.Busy() || j.background.Resting() || !b.awake() || b.busy():
		return "parked"
	case b.generating():
		return "generating"
	}
	return "prefilling"
}
