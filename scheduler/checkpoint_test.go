// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// uncuttable are memories that cannot be cut everywhere, by what they are.
var uncuttable = map[string]func(*schedulertest.Backend){
	"recurrent": func(b *schedulertest.Backend) { b.Recurrent = true },
	"window":    func(b *schedulertest.Backend) { b.Window = 16 },
}

// eachUncuttable runs a test with each such memory and checkpoints.
func eachUncuttable(t *testing.T, f func(t *testing.T, b *schedulertest.Backend, s *scheduler.Scheduler)) {
	for name, set := range uncuttable {
		t.Run(name, func(t *testing.T) {
			b := schedulertest.New(scheduler.Limits{})
			set(b)
			f(t, b, newScheduler(t, b, scheduler.Config{Slots: 2, ArchiveBytes: 1 << 20, Checkpoints: kvcache.CheckpointOptions{Most: 32, MinStep: 256, Bytes: 1 << 20}}))
		})
	}
}

// A rewind computes no more than some dozens of tokens again, however long prompt and answer are.
func TestCheckpoint_Rewind(t *testing.T) {
	eachUncuttable(t, func(t *testing.T, b *schedulertest.Backend, s *scheduler.Scheduler) {
		for _, n := range []int{1, 20, 100} {
			r := request(500, 1, 300)
			r.Buffer = 1000
			st := submit(t, s, r)
			var a received
			for len(a.tokens) < 200 {
				s.Tick()
				a.read(st)
			}
			computed := b.Tokens
			if err := control(t, s, func(ctx context.Context) error { return st.Rewind(ctx, n) }); err != nil {
				t.Fatal(err)
			}
			got := a
			for got.end == nil {
				s.Tick()
				got.read(st)
			}
			if again := b.Tokens - computed - (300 - 200); again < n || again > 2*n+64 {
				t.Errorf("%d tokens were computed again after %d were taken back", again, n)
			}
			if want := alone(t, request(500, 1, 300)); got.text != want.text {
				t.Errorf("after a rewind of %d: %q, alone %q", n, got.text, want.text)
			}
		}
	})
}

// A turn that parts from the conversation near the end of the last prompt computes what it has
// more, and a few tokens besides.
func TestCheckpoint_TurnThatParts(t *testing.T) {
	eachUncuttable(t, func(t *testing.T, b *schedulertest.Backend, s *scheduler.Scheduler) {
		finish(t, s, submit(t, s, request(400, 1, 150)))
		turn := request(0, 0, 10)
		turn.Prompt = slices.Concat(prompt(398, 1), prompt(30, 9)) // the answer is told otherwise
		a := finish(t, s, submit(t, s, turn))[0]
		if c := a.end.Usage.Cached; c < 390 {
			t.Errorf("%d tokens of 398 were found", c)
		}
		turn.Chain = []chain.Stage{schedulertest.Greedy{}}
		if want := alone(t, turn); a.text != want.text {
			t.Errorf("%q, alone %q", a.text, want.text)
		}
	})
}

// The second prompt that begins like another notes where they part: from the third on that
// beginning is shared.
func TestCheckpoint_CommonBeginning(t *testing.T) {
	eachUncuttable(t, func(t *testing.T, b *schedulertest.Backend, s *scheduler.Scheduler) {
		for i := range 4 {
			r := request(0, 0, 100)
			r.Prompt = slices.Concat(prompt(200, 1), prompt(250, 5+i))
			a := finish(t, s, submit(t, s, r))[0]
			if c := a.end.Usage.Cached; i >= 2 && c < 200 {
				t.Errorf("prompt %d found %d tokens of 200", i, c)
			}
			r.Chain = []chain.Stage{schedulertest.Greedy{}}
			if want := alone(t, r); a.text != want.text {
				t.Errorf("prompt %d: %q, alone %q", i, a.text, want.text)
			}
		}
	})
}

// Eight answers to one prompt compute it once.
func TestCheckpoint_Followers(t *testing.T) {
	for name, set := range uncuttable {
		t.Run(name, func(t *testing.T) {
			b := schedulertest.New(scheduler.Limits{})
			set(b)
			s := newScheduler(t, b, scheduler.Config{Slots: 8, Checkpoints: kvcache.CheckpointOptions{Most: 32, MinStep: 256, Bytes: 1 << 20}})
			var streams []*scheduler.Stream
			for range 8 {
				streams = append(streams, submit(t, s, request(300, 1, 5)))
			}
			finish(t, s, streams...)
			if most := 300 + 8*(1+5); b.Tokens > most {
				t.Errorf("%d tokens were computed, want %d at most", b.Tokens, most)
			}
		})
	}
}

// A conversation that has left the cache comes back although its next turn parts from it.
func TestCheckpoint_Archive(t *testing.T) {
	for name, set := range uncuttable {
		t.Run(name, func(t *testing.T) {
			b := schedulertest.New(scheduler.Limits{Cells: 600, Context: 600})
			set(b)
			s := newScheduler(t, b, scheduler.Config{Slots: 1, ArchiveBytes: 1 << 20, Checkpoints: kvcache.CheckpointOptions{Most: 32, MinStep: 256, Bytes: 1 << 20}})
			for seed := range 3 { // the last ones evict the first
				finish(t, s, submit(t, s, request(300, seed, 100)))
			}
			turn := request(0, 0, 10)
			turn.Prompt = slices.Concat(prompt(298, 0), prompt(30, 9))
			a := finish(t, s, submit(t, s, turn))[0]
			if c := a.end.Usage.Cached; c < 290 || b.Restored == 0 {
				t.Errorf("%d tokens of 298 were found, %d states put back", c, b.Restored)
			}
			turn.Chain = []chain.Stage{schedulertest.Greedy{}}
			if want := alone(t, turn); a.text != want.text {
				t.Errorf("%q, alone %q", a.text, want.text)
			}
		})
	}
}

// However long a checkpoint takes, the ticks of others become longer by no more than is said, and
// all of them together by an eighth.
func TestCheckpoint_TakesLittleOfTheTime(t *testing.T) {
	const pass = 20 * time.Millisecond
	for _, cost := range []time.Duration{time.Millisecond, 9 * time.Millisecond, time.Second} {
		t.Run(fmt.Sprint(cost), func(t *testing.T) {
			b := schedulertest.New(scheduler.Limits{})
			b.Recurrent, b.CheckpointCost = true, cost
			b.Cost = func(int, int) time.Duration { return pass }
			s := newScheduler(t, b, scheduler.Config{Slots: 8, Checkpoints: kvcache.CheckpointOptions{Most: 32, MinStep: 256, Bytes: 1 << 20}})
			var streams []*scheduler.Stream
			for i := range 8 {
				r := request(100, i, 300)
				r.Buffer = 1000
				streams = append(streams, submit(t, s, r))
			}
			longest, began := time.Duration(0), b.Now()
			for last := began; s.Tick(); last = b.Now() {
				longest = max(longest, b.Now().Sub(last))
			}
			finish(t, s, streams...)
			if cost < time.Second && b.Checkpoints < 20 {
				t.Errorf("%d checkpoints", b.Checkpoints)
			}
			if cost == time.Second && b.Checkpoints > 3 { // nobody knows before the first what one costs
				t.Errorf("%d checkpoints", b.Checkpoints)
			}
			spent, all := time.Duration(b.Checkpoints)*cost, b.Now().Sub(began)
			if cost < time.Second && (spent > all/8 || longest > pass+10*time.Millisecond) {
				t.Errorf("%v of %v went into checkpoints, the longest tick took %v", spent, all, longest)
			}
		})
	}
}
