// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"slices"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// Requests that come at once, each in the place of an old conversation or beginning as one does, hold up one that generates for a
// millisecond of copying a tick.
func TestScheduler_Copies_AMillisecondATick(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Cells: 4096, Sequences: 8})
	b.CopyCost = 50 * time.Microsecond
	s := newScheduler(t, b, scheduler.Config{Slots: 8, ArchiveBytes: 1 << 20})
	var old []*scheduler.Stream
	for i := range 8 {
		old = append(old, submit(t, s, request(100, i, 5)))
	}
	finish(t, s, old...)
	generating := submit(t, s, request(10, 20, 500))
	for !generates(s) {
		s.Tick()
	}
	var next []*scheduler.Stream
	for i := range 7 {
		r := request(100, 30+i, 5)
		if i > 3 {
			r = request(0, 0, 5)
			r.Prompt = slices.Concat(prompt(300, 40), prompt(10, i))
		}
		next = append(next, submit(t, s, r))
	}
	ticks, longest := 0, time.Duration(0)
	for waiting := true; waiting; ticks++ {
		begin := b.Now()
		s.Tick()
		longest = max(longest, b.Now().Sub(begin))
		waiting = scheduler.SnapshotOf(s).Waiting > 0
	}
	if ticks < 10 || longest > 1050*time.Microsecond {
		t.Errorf("the longest of %d ticks took %v", ticks, longest)
	}
	generating.Cancel()
	for _, a := range finish(t, s, next...) {
		if a.end.Reason != scheduler.ReasonLength {
			t.Errorf("ended with %+v", a.end)
		}
	}
	if b.Forced != 0 {
		t.Errorf("%d copies were waited for", b.Forced)
	}
}

// generates tells whether the first slot has given a token.
func generates(s *scheduler.Scheduler) bool {
	return slices.ContainsFunc(scheduler.SnapshotOf(s).Slots, func(i scheduler.SlotInfo) bool { return i.Generated > 0 })
}
