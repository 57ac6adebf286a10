// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// crowded is a scheduler whose 16 sequences all hold a conversation of n tokens, eight of them run at once.
func crowded(t *testing.T, n int, cost time.Duration) (*scheduler.Scheduler, *schedulertest.Backend) {
	b := schedulertest.New(scheduler.Limits{Cells: 20 * n, Sequences: 16, Adjacent: true})
	b.CopyCost = cost
	b.Cost = func(int, int) time.Duration { return 5 * time.Millisecond }
	s := newScheduler(t, b, scheduler.Config{Slots: 8, ArchiveBytes: 1 << 24})
	for round := range 2 {
		var streams []*scheduler.Stream
		for i := range 8 {
			streams = append(streams, submit(t, s, request(n, 8*round+i, 5)))
		}
		finish(t, s, streams...)
	}
	return s, b
}

// Conversations that will have to leave are saved before their place is wanted: who comes at once is computed at once.
func TestScheduler_Ahead_PlacesAreMade(t *testing.T) {
	s, b := crowded(t, 100, 10*time.Microsecond)
	for s.Tick() { //nolint:revive // until there is nothing to save
	}
	copied := b.Copied
	if copied == 0 || copied > 8*110 {
		t.Errorf("%d cells were saved", copied)
	}
	var streams []*scheduler.Stream
	for i := range 8 {
		streams = append(streams, submit(t, s, request(100, 100+i, 50)))
	}
	s.Tick()
	if waiting := scheduler.SnapshotOf(s).Waiting; waiting != 0 {
		t.Errorf("%d wait for a place", waiting)
	}
	for _, a := range finish(t, s, streams...) {
		if a.end.Reason != scheduler.ReasonLength {
			t.Errorf("ended with %+v", a.end)
		}
	}
	if b.Forced != 0 {
		t.Errorf("%d copies were waited for", b.Forced)
	}
}

// Nobody waits for a conversation that is saved ahead.
func TestScheduler_Ahead_IsGivenUp(t *testing.T) {
	s, b := crowded(t, 2000, time.Millisecond)
	copied := b.Copied
	if !s.Tick() || b.Copied == copied {
		t.Fatal("nothing is saved")
	}
	before := b.Now()
	st := submit(t, s, request(100, 100, 1))
	for scheduler.SnapshotOf(s).Waiting > 0 {
		s.Tick()
	}
	if took := b.Now().Sub(before); took > time.Second {
		t.Errorf("it began after %v", took)
	}
	if a := finish(t, s, st)[0]; a.end.Reason != scheduler.ReasonLength {
		t.Errorf("ended with %+v", a.end)
	}
}
