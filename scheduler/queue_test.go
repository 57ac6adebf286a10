// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// However many requests of higher priority keep coming, one of a lower priority has its turn.
func TestScheduler_Priority_Ages(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	s := newScheduler(t, b, scheduler.Config{Slots: 1})
	urgent := func() *scheduler.Stream {
		r := request(10, 1, 3)
		r.Priority = 2
		return submit(t, s, r)
	}
	running, waiting := urgent(), urgent()
	low := submit(t, s, request(10, 2, 3))
	var a, first received
	for range 100 { // seconds
		for first.end == nil {
			s.Tick()
			first.read(running)
		}
		running, waiting, first = waiting, urgent(), received{}
		if a.read(low); a.end != nil {
			break
		}
		b.Advance(time.Second)
	}
	waited := a.end
	if waited == nil {
		t.Fatal("the request of lower priority never had its turn")
	}
	if q := waited.Timing.Queued; q < 15*time.Second || q > 30*time.Second {
		t.Errorf("it waited for %v, with two steps of priority less", q)
	}
	running.Cancel()
	waiting.Cancel()
	s.Tick()
}

// Of several deadlines each ends its own request, whichever came first, in a slot or in the queue.
func TestScheduler_Deadlines_EachAtItsTime(t *testing.T) {
	for _, seconds := range [][]int{{1, 100}, {100, 1}, {100, 1, 50}, {50, 100, 1}} {
		b := schedulertest.New(scheduler.Limits{})
		s := newScheduler(t, b, scheduler.Config{Slots: 1})
		var streams []*scheduler.Stream
		for i, n := range seconds {
			r := request(10, i, 0)
			r.Deadline = b.Now().Add(time.Duration(n) * time.Second)
			streams = append(streams, submit(t, s, r))
		}
		answers := make([]received, len(streams))
		for now := range 101 {
			s.Tick()
			for i, st := range streams {
				answers[i].read(st)
				if late := now >= seconds[i]; late != (answers[i].end != nil && errors.Is(answers[i].end.Err, scheduler.ErrDeadline)) {
					t.Fatalf("deadlines after %v seconds: after %d, request %d has ended as %+v", seconds, now, i, answers[i].end)
				}
			}
			b.Advance(time.Second)
		}
	}
}

// The turn of the prompt that has waited longest for a chunk goes round.
func TestScheduler_LongestWait_GoesRound(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Cells: 1 << 15, Context: 1 << 14, Batch: 64})
	s := newScheduler(t, b, scheduler.Config{Slots: 4})
	var streams []*scheduler.Stream
	for i, n := range []int{2500, 6000, 6000, 6000} { // the first is the shortest all the time
		streams = append(streams, submit(t, s, scheduler.Request{Prompt: []scheduler.Segment{{Tokens: own(n, i)}}, MaxTokens: 1, Chain: request(1, 1, 1).Chain, Logprobs: -1}))
	}
	for range 33 { // of which every eighth is the turn of another
		s.Tick()
	}
	for i, st := range streams {
		if scheduler.Computed(st) == 0 {
			t.Errorf("nothing of prompt %d is computed", i)
		}
		st.Cancel()
	}
	s.Tick()
}

// A slot that is preempted in the middle of a plan gives back what was reserved for it: one whose
// cells just suffice keeps them.
func TestScheduler_Preempt_ReturnsWhatWasReserved(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Cells: 128, Context: 128, Batch: 128})
	s := newScheduler(t, b, scheduler.Config{Slots: 3})
	var streams []*scheduler.Stream
	for i := range 3 {
		r := request(10, 0, 0)
		r.Prompt[0].Tokens = own(10, i)
		streams = append(streams, submit(t, s, r))
	}
	for range 6 {
		s.Tick()
	}
	free := 128 - scheduler.Held(s)
	last := scheduler.Computed(streams[2])
	more := make([]scheduler.Token, free+last-1-1) // with the one that is pending, all but a cell for the second
	if err := control(t, s, func(ctx context.Context) error { return streams[0].Inject(ctx, more) }); err != nil {
		t.Fatal(err)
	}
	s.Tick()
	snap := scheduler.SnapshotWithTicks(s, 1)
	if tick := snap.Ticks[0]; tick.Preempted != 1 || tick.Prefill != len(more)+1 || tick.Decode != 1 {
		t.Errorf("%d of %d tokens are computed beside %d others; %d slots are preempted for them", tick.Prefill, len(more)+1, tick.Decode, tick.Preempted)
	}
	for _, st := range streams {
		st.Cancel()
	}
	s.Tick()
}
