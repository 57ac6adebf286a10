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
