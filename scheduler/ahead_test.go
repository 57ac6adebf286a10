// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"slices"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// crowded is a scheduler whose 16 sequences all hold a conversation of n tokens, eight of them run
// at once.
func crowded(t *testing.T, n int, cost time.Duration) (*scheduler.Scheduler, *schedulertest.Backend) {
	b := schedulertest.New(scheduler.Limits{Cells: 20 * n, Sequences: 16})
	b.CopyCost = cost
	b.Cost = func(int, int) time.Duration { return 5 * time.Millisecond }
	s := newScheduler(t, schedulertest.Nearest{Backend: b}, scheduler.Config{Slots: 8, ArchiveBytes: 1 << 24})
	for round := range 2 {
		var streams []*scheduler.Stream
		for i := range 8 {
			streams = append(streams, submit(t, s, request(n, 8*round+i, 5)))
		}
		finish(t, s, streams...)
	}
	return s, b
}

// Conversations that will have to leave are saved before their place is wanted: who comes at once
// is computed at once.
func TestScheduler_Ahead_PlacesAreMade(t *testing.T) {
	s, b := crowded(t, 100, 10*time.Microsecond)
	for s.Tick() { //nolint:revive // until there is nothing to save
	}
	copied := b.Copied
	if copied == 0 || copied > 16*110 {
		t.Errorf("%d cells were saved", copied)
	}
	var streams []*scheduler.Stream
	for i := range 8 {
		streams = append(streams, submit(t, s, request(100, 100+i, 50)))
	}
	s.Tick()
	if waiting := len(scheduler.SnapshotOf(s).Queue); waiting != 0 {
		t.Errorf("%d wait for a place", waiting)
	}
	for _, a := range finish(t, s, streams...) {
		if a.end.Reason != answer.ReasonLength {
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
	for len(scheduler.SnapshotOf(s).Queue) > 0 {
		s.Tick()
	}
	if took := b.Now().Sub(before); took > time.Second {
		t.Errorf("it began after %v", took)
	}
	if a := finish(t, s, st)[0]; a.end.Reason != answer.ReasonLength {
		t.Errorf("ended with %+v", a.end)
	}
}

// rest lets a scheduler do what it does when nobody asks for anything.
func rest(s *scheduler.Scheduler) {
	for s.Tick() { //nolint:revive // until there is nothing to do
	}
}

// An archive with room for little keeps what leaves the cache, not what is still in it, and
// nothing is saved again and again.
func TestScheduler_Ahead_LeavesRoomForWhatLeaves(t *testing.T) {
	const n = 100
	b := schedulertest.New(scheduler.Limits{Cells: 20 * n, Sequences: 8})
	b.CopyCost = 10 * time.Microsecond
	s := newScheduler(t, b, scheduler.Config{Slots: 8, ArchiveBytes: 3 * 12 * (n + 10)})
	ask := func(seed int) received { return finish(t, s, submit(t, s, request(n, seed, 2)))[0] }
	for seed := range 8 {
		ask(seed)
	}
	rest(s)
	copied := b.Copied
	if copied == 0 || copied > 8*n {
		t.Errorf("%d cells were saved of eight conversations of %d", copied, n)
	}
	for seed := range 3 {
		ask(100 + seed)
		rest(s)
	}
	if a := ask(0); a.end.Usage.Cached < n-1 { // the first that left
		t.Errorf("it came back with %d tokens", a.end.Usage.Cached)
	}
}

// Answers to one prompt share most of what they hold, and each alone is not worth saving. The last
// of them is.
func TestScheduler_Ahead_TheLastThatSharesIsSaved(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Cells: 8000, Sequences: 8})
	s := newScheduler(t, b, scheduler.Config{Slots: 8, ArchiveBytes: 1 << 20})
	var streams []*scheduler.Stream
	for seed := range 4 {
		r := request(0, 0, 2)
		r.Prompt = slices.Concat(prompt(300, 1), prompt(100, 10+seed))
		streams = append(streams, submit(t, s, r))
	}
	finish(t, s, streams...)
	rest(s)
	for seed := range 12 { // all of them leave
		finish(t, s, submit(t, s, request(100, 100+seed, 2)))
		rest(s)
	}
	r := request(0, 0, 2)
	r.Prompt = slices.Concat(prompt(300, 1), prompt(100, 50))
	if a := finish(t, s, submit(t, s, r))[0]; a.end.Usage.Cached < 300 {
		t.Errorf("the prompt came back with %d tokens", a.end.Usage.Cached)
	}
}

// Requests that need no copy of their own do not begin one that nobody waits for anew.
func TestScheduler_Ahead_GoesOnBesideOthers(t *testing.T) {
	const n = 2000
	s, b := crowded(t, n, 100*time.Microsecond) // 200 ms each
	rest(s)
	copied := b.Copied
	finish(t, s, submit(t, s, request(n, 150, 5))) // in a place that was made
	for range 300 {
		finish(t, s, submit(t, s, request(10, 300, 3))) // not worth saving; goes on where the last one was
	}
	if more := b.Copied - copied; more < n || more > 2*(n+10) {
		t.Errorf("%d cells were saved of a conversation of %d", more, n+5)
	}
}
