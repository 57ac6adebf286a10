// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// newThawing is a scheduler after a restart: the cold store has a conversation of 3,000 tokens.
func newThawing(t *testing.T, c scheduler.Config) (*schedulertest.Backend, *scheduler.Scheduler, *schedulertest.Cold) {
	t.Helper()
	b := schedulertest.New(scheduler.Limits{Cells: 16384, Context: 8192, Batch: 512})
	cold := schedulertest.NewCold(b)
	c.Cold = cold
	before := newScheduler(t, b, c)
	finish(t, before, submit(t, before, request(3000, 1, 5)))
	end(before)
	for seq := range b.Limits().Sequences {
		b.Truncate(int32(seq), 0)
	}
	if n, _ := cold.Kept(); n != 1 {
		t.Fatalf("%d conversations were kept", n)
	}
	return b, newScheduler(t, b, c), cold
}

// end ends a scheduler, which frees what it holds.
func end(s *scheduler.Scheduler) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = s.Run(ctx)
}

// checkFreed checks that no state is left once scheduler and cold store have ended.
func checkFreed(t *testing.T, b *schedulertest.Backend, s *scheduler.Scheduler, cold *schedulertest.Cold) {
	t.Helper()
	end(s)
	cold.Deliver()
	if cold.Clear(); b.States != 0 {
		t.Errorf("%d states are left", b.States)
	}
}

// A prompt that the cold store has is read and not computed. Others go before it meanwhile, and
// the answer is the same.
func TestScheduler_Cold_PromptIsRead(t *testing.T) {
	b, s, cold := newThawing(t, scheduler.Config{Slots: 2, ArchiveBytes: 1 << 20})
	want := alone(t, request(3000, 1, 8))
	b.Tokens = 0
	first := submit(t, s, request(3000, 1, 8))
	other := submit(t, s, request(40, 7, 5))
	for range 3 {
		s.Tick()
	}
	if q := scheduler.SnapshotOf(s).Queue; len(q) != 1 || q[0].Stream != first.ID() || q[0].Wait != scheduler.WaitDisk || b.Tokens < 40 {
		t.Errorf("%+v waits, %d tokens computed", q, b.Tokens)
	}
	cold.Deliver()
	all := finish(t, s, first, other)
	if all[0].text != want.text || all[0].end.Usage.Cached < 2900 || b.Tokens > 300 {
		t.Errorf("%q with %d tokens found and %d computed, alone %q", all[0].text, all[0].end.Usage.Cached, b.Tokens, want.text)
	}
	checkFreed(t, b, s, cold)
}

// Requests with the same beginning have it read once, whichever of them ends early. The first may
// use a part of it, and another one all: that is restored, whoever goes first.
func TestScheduler_Cold_ReadOnceForSeveral(t *testing.T) {
	long, part := request(3000, 1, 8), request(300, 7, 8)
	part.Prompt = []scheduler.Segment{{Tokens: append(slices.Clone(long.Prompt[0].Tokens[:1000]), part.Prompt[0].Tokens...)}}
	for name, c := range map[string]struct {
		requests []scheduler.Request
		cancels  bool
		computed int // at most
	}{
		"all stay":               {[]scheduler.Request{long, long, long}, false, 400},
		"the first is cancelled": {[]scheduler.Request{long, long, long}, true, 400},
		"the first uses a part":  {[]scheduler.Request{part, long}, false, 600},
	} {
		t.Run(name, func(t *testing.T) {
			b, s, cold := newThawing(t, scheduler.Config{Slots: 4})
			b.Tokens = 0
			var streams []*scheduler.Stream
			for _, r := range c.requests {
				streams = append(streams, submit(t, s, r))
			}
			for range 3 {
				s.Tick()
			}
			if c.cancels {
				streams[0].Cancel()
				s.Tick()
			}
			cold.Deliver()
			finish(t, s, streams...)
			if b.Tokens > c.computed || cold.Fetched != 1 {
				t.Errorf("%d tokens computed, %d read", b.Tokens, cold.Fetched)
			}
			checkFreed(t, b, s, cold)
		})
	}
}

// What comes too late, or never, is computed, and what nobody waits for any more is closed.
func TestScheduler_Cold_LateIsComputed(t *testing.T) {
	for name, away := range map[string]func(*schedulertest.Backend, *scheduler.Stream, *schedulertest.Cold){
		"late":      func(b *schedulertest.Backend, _ *scheduler.Stream, _ *schedulertest.Cold) { b.Advance(time.Second) },
		"gone":      func(_ *schedulertest.Backend, _ *scheduler.Stream, c *schedulertest.Cold) { c.Clear(); c.Deliver() },
		"cancelled": func(_ *schedulertest.Backend, st *scheduler.Stream, _ *schedulertest.Cold) { st.Cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			b, s, cold := newThawing(t, scheduler.Config{Slots: 2})
			st := submit(t, s, request(3000, 1, 8))
			for range 3 {
				s.Tick()
			}
			b.Tokens = 0
			away(b, st, cold)
			if got := finish(t, s, st)[0]; name != "cancelled" && (got.text != alone(t, request(3000, 1, 8)).text || b.Tokens < 3000) {
				t.Errorf("%q, %d tokens computed", got.text, b.Tokens)
			}
			checkFreed(t, b, s, cold)
		})
	}
}

// A disk that takes longer than half of what computing takes is not asked.
func TestScheduler_Cold_NotWhereComputingIsQuicker(t *testing.T) {
	b, s, cold := newThawing(t, scheduler.Config{Slots: 2})
	cold.Reading = time.Hour
	finish(t, s, submit(t, s, request(3000, 1, 8)))
	if cold.Fetched > 0 {
		t.Error("it was read")
	}
	checkFreed(t, b, s, cold)
}

// Another key's conversations are not asked for, and none is where a request wants no cache.
func TestScheduler_Cold_OtherSalt(t *testing.T) {
	b, s, cold := newThawing(t, scheduler.Config{Slots: 2})
	other, none := request(3000, 1, 8), request(3000, 1, 8)
	other.CacheSalt, none.CachePrompt = "other", false
	finish(t, s, submit(t, s, other))
	finish(t, s, submit(t, s, none))
	if cold.Fetched > 0 {
		t.Error("it was read")
	}
	checkFreed(t, b, s, cold)
}
