// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"slices"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// TestScheduler_Adjacent_LongPromptsStandAside: however requests arrive mixed, those that generate have sequences that follow one
// another, and stay so as answers end and others begin.
func TestScheduler_Adjacent_LongPromptsStandAside(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Cells: 1 << 16, Context: 1 << 13, Batch: 2048, Sequences: 8, Apart: true, Adjacent: true})
	b.Cost = schedulertest.Measured.Cost
	s := newScheduler(t, b, scheduler.Config{Slots: 8})
	widest := 0
	b.Fail = func(batch *scheduler.Batch) error {
		if batch.Rows() == batch.Len() && batch.Len() > 1 { // decoding only
			widest = max(widest, int(slices.Max(batch.Sequences)-slices.Min(batch.Sequences))+1)
		}
		return nil
	}
	serial := 0
	next := func(n, most int) *scheduler.Stream {
		serial++
		r := request(n, serial, most)
		r.CachePrompt = false
		return submit(t, s, r)
	}
	running := []*scheduler.Stream{next(20, 50), next(1500, 1), next(25, 60), next(2000, 1), next(30, 70), next(20, 80)}
	for start := b.Now(); b.Now().Sub(start) < time.Minute; {
		s.Tick()
		for i, st := range running {
			for e, ok := st.TryNext(); ok; e, ok = st.TryNext() {
				if e.Kind != scheduler.KindEnd {
					continue
				}
				if i == 1 || i == 3 {
					running[i] = next(1500, 1)
				} else {
					running[i] = next(20+serial%9, 50+serial%40)
				}
			}
		}
	}
	if serial < 50 || widest > 4 {
		t.Errorf("of %d requests, those generating lay in up to %d sequences; want 4", serial, widest)
	}
}
