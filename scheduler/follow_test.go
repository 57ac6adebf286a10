// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/must"
)

// Equal prompts that come at once, as the n answers of a request, are computed once.
func TestScheduler_EqualPromptsAtOnce_AreComputedOnce(t *testing.T) {
	for _, length := range []int{100, 1000, 1023} { // chunks of 512
		b := schedulertest.New(scheduler.Limits{Cells: 16384, Context: 2048})
		b.CopyCost = 5 * time.Microsecond
		s := newScheduler(t, b, scheduler.Config{Slots: 8})
		r := request(length, 1, 10)
		want := alone(t, r)
		var streams []*scheduler.Stream
		for range 8 {
			streams = append(streams, submit(t, s, r))
		}
		answers := finish(t, s, streams...)
		if most := length + 7 + 8*9; b.Tokens > most {
			t.Errorf("%d tokens computed for eight prompts of %d, want %d", b.Tokens, length, most)
		}
		for i, a := range answers {
			if want := min(i, 1) * (length - 1); a.end.Usage.Cached != want {
				t.Errorf("answer %d found %d tokens, want %d", i, a.end.Usage.Cached, want)
			}
			if a.text != want.text {
				t.Errorf("answer %d: %q, alone %q", i, a.text, want.text)
			}
		}
	}
}

// Those that wait for another's prompt go on by themselves, whatever becomes of that; and nobody
// else waits for them.
func TestScheduler_EqualPrompts_TheFirstGoesAway(t *testing.T) {
	for name, away := range map[string]func(b *schedulertest.Backend, s *scheduler.Scheduler, st *scheduler.Stream) error{
		"cancelled": func(_ *schedulertest.Backend, _ *scheduler.Scheduler, st *scheduler.Stream) error {
			st.Cancel()
			return nil
		},
		"paused": func(_ *schedulertest.Backend, s *scheduler.Scheduler, st *scheduler.Stream) error {
			return control(t, s, st.Pause)
		},
		"expired": func(b *schedulertest.Backend, _ *scheduler.Scheduler, _ *scheduler.Stream) error {
			b.Advance(time.Hour)
			return nil
		},
		"failed": func(b *schedulertest.Backend, _ *scheduler.Scheduler, _ *scheduler.Stream) error {
			b.Fail = func(batch *scheduler.Batch) error {
				if slices.Contains(batch.Sequences, 0) {
					return errors.New("broken")
				}
				return nil
			}
			return nil
		},
		"preempted": func(_ *schedulertest.Backend, s *scheduler.Scheduler, _ *scheduler.Stream) error {
			scheduler.Preempt(s)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := schedulertest.New(scheduler.Limits{Cells: 8192, Context: 2048, Batch: 64})
			s := newScheduler(t, b, scheduler.Config{Slots: 4})
			r := request(500, 1, 5)
			want := alone(t, r)
			first := r
			first.Deadline = b.Now().Add(time.Minute)
			leader := submit(t, s, first)
			followers := []*scheduler.Stream{submit(t, s, r), submit(t, s, r)}
			other := submit(t, s, request(40, 7, 5))
			s.Tick()
			s.Tick()
			if n := running(s); n != 2 {
				t.Errorf("%d run, want the first and the one with another prompt", n)
			}
			must.Do(t, away(b, s, leader))
			b.Tokens = 0
			for i, a := range finish(t, s, followers...) {
				if name == "failed" && a.end.Err != nil {
					continue // it got the broken sequence
				}
				if a.text != want.text {
					t.Errorf("answer %d: %q (%v), alone %q", i, a.text, a.end.Err, want.text)
				}
			}
			if b.Tokens > 600 {
				t.Errorf("%d tokens computed", b.Tokens)
			}
			leader.Cancel()
			finish(t, s, leader, other)
		})
	}
}

// Requests that are submitted together are queued together or not at all.
func TestScheduler_SubmitAll_AllOrNone(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{Slots: 1, QueueLimit: 2})
	all := func(n int) []scheduler.Request { return slices.Repeat([]scheduler.Request{request(10, 1, 2)}, n) }
	if _, err := s.SubmitAll(all(4)); !errors.Is(err, scheduler.ErrTooMany) || errors.Is(err, scheduler.ErrQueueFull) {
		t.Errorf("four, where there is room for three: %v", err)
	}
	streams, err := s.SubmitAll(all(2))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.SubmitAll(all(2)); !errors.Is(err, scheduler.ErrQueueFull) {
		t.Errorf("two more: %v", err)
	}
	bad := all(1)
	bad[0].Prompt = nil
	if _, err := s.SubmitAll(bad); !errors.Is(err, scheduler.ErrEmptyPrompt) {
		t.Errorf("without a prompt: %v", err)
	}
	finish(t, s, streams...)
	if streams, err = s.SubmitAll(all(3)); err != nil {
		t.Errorf("three, where there is room for three: %v", err)
	}
	finish(t, s, streams...)
}

// Requests are built only where there is room for them, and their room is theirs while they are
// built.
func TestScheduler_SubmitBuilt_RoomFirst(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{Slots: 1, QueueLimit: 2})
	never := func() ([]scheduler.Request, error) { t.Error("built without room"); return nil, nil }
	if _, err := s.SubmitBuilt("", 4, never); !errors.Is(err, scheduler.ErrTooMany) {
		t.Errorf("four, where there is room for three: %v", err)
	}
	streams := must.Get(s.SubmitBuilt("", 2, func() ([]scheduler.Request, error) {
		if _, err := s.SubmitBuilt("", 2, never); !errors.Is(err, scheduler.ErrQueueFull) {
			t.Errorf("two beside two that are built: %v", err)
		}
		return slices.Repeat([]scheduler.Request{request(10, 1, 2)}, 2), nil
	}))(t)
	finish(t, s, streams...)
	broken := errors.New("broken")
	for range 2 { // the room is free again, whatever became of it
		if _, err := s.SubmitBuilt("", 3, func() ([]scheduler.Request, error) { return nil, broken }); !errors.Is(err, broken) {
			t.Errorf("a failure to build: %v", err)
		}
		func() {
			defer func() { _ = recover() }()
			_, _ = s.SubmitBuilt("", 3, func() ([]scheduler.Request, error) { panic(broken) })
		}()
		bad := slices.Repeat([]scheduler.Request{request(10, 1, 2)}, 3)
		bad[2].Prompt = nil
		if _, err := s.SubmitBuilt("", 3, func() ([]scheduler.Request, error) { return bad, nil }); !errors.Is(err, scheduler.ErrEmptyPrompt) {
			t.Errorf("without a prompt: %v", err)
		}
	}
}

// A scheduler that is to end waits for requests that are being built.
func TestScheduler_Drain_WhileBuilding(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{Slots: 1})
	isDrained := func() bool {
		select {
		case <-s.Drained():
			return true
		default:
			return false
		}
	}
	streams := must.Get(s.SubmitBuilt("", 1, func() ([]scheduler.Request, error) {
		s.Drain()
		if isDrained() {
			t.Error("drained before the request was submitted")
		}
		return []scheduler.Request{request(10, 1, 2)}, nil
	}))(t)
	finish(t, s, streams...)
	if !isDrained() {
		t.Error("not drained after its end")
	}
}

func running(s *scheduler.Scheduler) (n int) {
	for _, slot := range scheduler.SnapshotOf(s).Slots {
		if slot.State != "idle" {
			n++
		}
	}
	return n
}

// Nobody waits for a prefix that cannot be shared, as of a recurrent model without checkpoints:
// the prompts are computed beside each other.
func TestScheduler_EqualPrompts_NobodyWaitsInVain(t *testing.T) {
	for name, most := range map[string]int{"no checkpoints": 0, "checkpoints": 8} {
		t.Run(name, func(t *testing.T) {
			b := schedulertest.New(scheduler.Limits{Cells: 16384, Context: 2048, Batch: 64})
			b.Recurrent = true
			s := newScheduler(t, b, scheduler.Config{Slots: 8, Checkpoints: kvcache.CheckpointOptions{Most: most, Bytes: 1 << 20}})
			for range 8 {
				submit(t, s, request(1000, 1, 10))
			}
			for range 3 { // the first tick computes too little to tell
				s.Tick()
			}
			if waiting := len(scheduler.SnapshotOf(s).Queue); (waiting == 0) != (most == 0) {
				t.Errorf("%d requests wait for others", waiting)
			}
		})
	}
}
