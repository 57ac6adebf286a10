// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// Requests of a burst share the first pass, though the first one is there before the other.
func TestScheduler_Burst_SharesTheFirstPass(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Cells: 4096, Batch: 512})
	s := newScheduler(t, b, scheduler.Config{Slots: 8})
	scheduler.SetGatherFor(s, time.Minute)
	first, second, given := s.Expect(), s.Expect(), s.Expect()
	submit(t, s, request(20, 1, 4))
	first()
	first() // twice is once
	go func() {
		time.Sleep(5 * time.Millisecond) // the tick waits by then
		_, err := s.Submit(request(20, 2, 4))
		second()
		given() // up
		if err != nil {
			t.Error(err)
		}
	}()
	if s.Tick(); b.Largest != 40 {
		t.Errorf("the first pass has %d tokens", b.Largest)
	}
	third := s.Expect()
	defer third()
	if s.Tick(); b.Passes != 2 { // or it would wait for a minute
		t.Errorf("%d passes", b.Passes)
	}
}

// One that never comes holds nobody up for long.
func TestScheduler_Expected_MayNotCome(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Cells: 4096, Batch: 512})
	s := newScheduler(t, b, scheduler.Config{Slots: 8})
	defer s.Expect()()
	submit(t, s, request(20, 1, 4))
	if s.Tick(); b.Passes != 1 {
		t.Errorf("%d passes", b.Passes)
	}
}

// Short prompts that take two passes end in the same one: an answer that began with the first would wait for the second at once.
func TestScheduler_BurstOfTwoPasses_HoldsNobodyUp(t *testing.T) {
	for _, m := range machines[:2] {
		b := schedulertest.New(scheduler.Limits{Cells: 1 << 14, Batch: 2048, Sequences: 16, SeparatePasses: m.separate})
		b.Cost = m.curve.Cost
		s := newScheduler(t, b, scheduler.Config{Slots: 16})
		for range 3 { // the costs are learned in the first burst
			var streams []*scheduler.Stream
			for i := range 16 {
				r := request(55, i, 20)
				r.CachePrompt = false
				streams = append(streams, submit(t, s, r))
			}
			last, longest, passes := make([]time.Time, 16), time.Duration(0), b.Passes
			first := 0
			for s.Tick() {
				for i, st := range streams {
					for e, ok := st.TryNext(); ok; e, ok = st.TryNext() {
						if e.Kind != scheduler.KindToken {
							continue
						}
						if last[i].IsZero() {
							first = b.Passes - passes
						} else {
							longest = max(longest, b.Now().Sub(last[i]))
						}
						last[i] = b.Now()
					}
				}
			}
			t.Logf("%s: the last first token came in pass %d; longest gap %v", m.name, first, longest)
			if most := 2 * m.curve.Cost(16, 0); longest > most {
				t.Errorf("%s: a stream waited %v for its next token; a pass with 16 tokens takes %v", m.name, longest, most/2)
			}
		}
	}
}
