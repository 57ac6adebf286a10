// SPDX-License-Identifier: MIT

package scheduler

import (
	"context"
	"time"

	"github.com/penstock/penstock/scheduler/answer"
)

// Observer is told what happens, on the tick's goroutine: it must be quick and must not call back.
type Observer interface {
	Tick(TickRecord)          // after each tick that computed something
	First(ttft time.Duration) // a request's first token, since its submission
	Token(gap time.Duration)  // a later token, since the one before
	Ended(RequestRecord)      // a request ended, for whatever reason
}

// TickRecord is what one tick did.
type TickRecord struct {
	Start     time.Time
	Forward   time.Duration // in the backend's passes
	Sample    time.Duration // in sampler chains
	Plugins   time.Duration // waiting for chains on other goroutines, after the native ones
	Total     time.Duration // all of the tick
	Passes    int           // forward passes: one, or two where Limits.SeparatePasses; more only after a failure
	Decode    int           // tokens of generating slots
	Prefill   int           // tokens of prompts
	Preempted int           // jobs that lost their cells
	Running   int
	Waiting   int
	Parked    int // running, but paused or with a reader that does not keep up
	CellsUsed int // KV cells that hold something
	Cells     int
}

// RequestRecord is what became of one request.
type RequestRecord struct {
	Reason answer.Reason
	Usage  Usage
	Timing Timing
	Total  time.Duration // submission to end
}

type nobody struct{}

func (nobody) Tick(TickRecord)     {}
func (nobody) First(time.Duration) {}
func (nobody) Token(time.Duration) {}
func (nobody) Ended(RequestRecord) {}

// requestRecord is what the observer is told of an end.
func (e *End) requestRecord() RequestRecord {
	t := e.Timing
	return RequestRecord{Reason: e.Reason, Usage: e.Usage, Timing: t, Total: t.Queued + t.Prefill + t.Decode}
}

// history keeps the last tick records.
type history struct {
	records [4096]TickRecord
	n       int
}

// observe closes the record of a tick.
func (s *Scheduler) observe() {
	r := &s.record
	r.Total = s.config.Clock().Sub(r.Start)
	r.Running, r.Waiting = len(s.running), len(s.queue.jobs)
	for _, j := range s.running {
		if j.paused || j.stalled {
			r.Parked++
		}
	}
	r.CellsUsed, r.Cells = s.limits.Cells-s.cache.Free(), s.limits.Cells
	s.history.records[s.history.n%len(s.history.records)] = *r
	s.history.n++
	s.config.Observer.Tick(*r)
}

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
	State     string // idle, prefilling, generating, parked
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
	answer := make(chan Snapshot, 1)
	if !s.inbox.post(func(s *Scheduler) { answer <- s.snapshot(ticks) }) {
		return Snapshot{}, ErrClosed
	}
	select {
	case snap := <-answer:
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
			snap.Slots[i] = SlotInfo{Slot: i, Stream: j.stream.id, State: j.state(), Prompt: j.answer.Prompt(), Cached: j.cached,
				Computed: j.seq.Len(), Generated: j.counted, Sequence: int(j.seq.ID()), Age: now.Sub(j.times.submitted)}
		}
	}
	size := len(s.history.records)
	for i := max(0, s.history.n-min(ticks, size)); i < s.history.n; i++ {
		snap.Ticks = append(snap.Ticks, s.history.records[i%size])
	}
	return snap
}

func (j *job) state() string {
	switch {
	case j.paused || j.stalled || j.worker.Busy() || j.worker.Resting():
		return "parked"
	case j.generating():
		return "generating"
	}
	return "prefilling"
}
