// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// loadOf asks for the load a while after it was asked for last. On a busy machine whoever asks may
// be told of an older look, for want of patience.
func loadOf(t *testing.T, s *scheduler.Scheduler, b *schedulertest.Backend) scheduler.Load {
	t.Helper()
	b.Advance(100 * time.Millisecond)
	l := call(t, s, s.Load)
	for !l.At.Equal(b.Now()) {
		l = call(t, s, s.Load)
	}
	return l
}

// The load follows what runs, waits and has ended.
func TestScheduler_Load_Follows(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Cells: 4096, Context: 2048, Batch: 512})
	s := newScheduler(t, b, scheduler.Config{Slots: 2})
	idle := loadOf(t, s, b)
	if idle.Slots != 2 || idle.Running != 0 || idle.Waiting != 0 || !idle.Oldest.IsZero() || idle.Cells != 4096 || idle.CellsUsed != 0 || len(idle.Prefixes) != 0 {
		t.Errorf("idle: %+v", idle)
	}
	adapted := request(300, 3, 50)
	adapted.Adapters, adapted.AdaptersFrom = schedulertest.Adapters("a"), 0
	began := b.Now()
	streams := []*scheduler.Stream{submit(t, s, request(300, 1, 50)), submit(t, s, adapted)}
	s.Tick()
	b.Advance(time.Second)
	waits := b.Now()
	streams = append(streams, submit(t, s, adapted), submit(t, s, request(300, 4, 50)))
	for range 5 {
		s.Tick()
	}
	busy := loadOf(t, s, b)
	if busy.Running != 2 || busy.Waiting != 2 || !busy.Oldest.Equal(waits) || busy.Oldest.Equal(began) || busy.CellsUsed < 300 || busy.CellsCached != 0 {
		t.Errorf("busy: %+v", busy)
	}
	if diff := cmp.Diff([]scheduler.AdapterLoad{{Key: "a", Running: 1, Waiting: 1}}, busy.Adapters); diff != "" {
		t.Error(diff)
	}
	if busy.Tokens.Prompt < 300 || busy.Rates.Prompt <= 0 || busy.Rates.Generated <= 0 {
		t.Errorf("busy: %+v %+v", busy.Tokens, busy.Rates)
	}
	var want scheduler.TokenCounts
	for _, a := range finish(t, s, streams...) {
		want.Prompt += uint64(a.end.Usage.Prompt - a.end.Usage.Cached)
		want.Generated += uint64(len(a.tokens))
	}
	done := loadOf(t, s, b)
	if done.Running != 0 || done.Waiting != 0 || len(done.Adapters) != 0 || done.CellsUsed == 0 || done.CellsCached != done.CellsUsed {
		t.Errorf("done: %+v", done)
	}
	if diff := cmp.Diff(want, done.Tokens); diff != "" {
		t.Error(diff)
	}
	if len(done.Prefixes) == 0 || len(done.Prefixes[0].Digests) != done.Prefixes[0].Blocks {
		t.Errorf("%+v", done.Prefixes)
	}
	b.Advance(time.Minute)
	if later := loadOf(t, s, b); later.Rates != (scheduler.TokenRates{}) || later.Tokens != done.Tokens {
		t.Errorf("a minute later: %+v %+v", later.Rates, later.Tokens)
	}
}

// What is told of a prefix is what a request finds.
func TestScheduler_Load_PrefixesAreFound(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Cells: 4096, Context: 2048})
	s := newScheduler(t, b, scheduler.Config{Slots: 2})
	r := request(300, 1, 5)
	r.CacheSalt = "salt"
	finish(t, s, submit(t, s, r))
	l := loadOf(t, s, b)
	want := kvcache.Digests(prompt(300, 1)[0].Tokens)
	if len(l.Prefixes) != 1 || l.Prefixes[0].Scope.Salt != "salt" || cmp.Diff(want, l.Prefixes[0].Digests) != "" {
		t.Fatalf("%+v, want %v", l.Prefixes, want)
	}
	if found := finish(t, s, submit(t, s, r))[0].end.Usage.Cached; found < len(want)*kvcache.BlockTokens {
		t.Errorf("%d tokens found, %d told of", found, len(want)*kvcache.BlockTokens)
	}
}

// Who asks shortly after another is told the same, without a tick; but the requests that no tick
// has seen are counted.
func TestScheduler_Load_IsShared(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	s := newScheduler(t, b, scheduler.Config{Slots: 1})
	first := loadOf(t, s, b)
	streams := []*scheduler.Stream{submit(t, s, request(10, 1, 5)), submit(t, s, request(10, 2, 5))}
	again, err := s.Load(t.Context())
	if err != nil || !again.At.Equal(first.At) || again.Running != 0 || again.Waiting != 2 {
		t.Errorf("%v, %+v", err, again)
	}
	finish(t, s, streams...)
}

// While a long pass computes, the look before it is told; who asks first waits, as long as its
// context lasts.
func TestScheduler_Load_DoesNotWaitForALongTick(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	s := newScheduler(t, b, scheduler.Config{})
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := s.Load(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the first to ask: %v", err)
	}
	first := loadOf(t, s, b)
	b.Advance(time.Second)
	if l, err := s.Load(t.Context()); err != nil || !l.At.Equal(first.At) {
		t.Errorf("no tick comes: %v, %+v", err, l)
	}
	scheduler.TakeCommands(s)
	if l, err := s.Load(t.Context()); err != nil || l.At.Equal(first.At) {
		t.Errorf("after the tick: %v, %+v", err, l)
	}
}

func TestScheduler_Load_Closed(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := s.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(t.Context()); !errors.Is(err, scheduler.ErrClosed) {
		t.Errorf("%v", err)
	}
}

// Rates are over the last five seconds, as far as they have passed.
func TestScheduler_Load_Rates(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	s := newScheduler(t, b, scheduler.Config{})
	st := submit(t, s, request(100, 1, 1000))
	for range 40 { // a token in 250 ms
		b.Advance(250 * time.Millisecond)
		s.Tick()
	}
	if l := loadOf(t, s, b); l.Rates.Generated < 3.5 || l.Rates.Generated > 4.5 || l.Rates.Prompt != 0 {
		t.Errorf("4 tokens a second are told as %+v", l.Rates)
	}
	st.Cancel()
	s.Tick()
}

// BenchmarkScheduler_Load is what a look costs the tick, with 256 slots at work that have 100,000
// cells: when no block is new, and when as many are as one look computes the digests of.
func BenchmarkScheduler_Load(b *testing.B) {
	for _, fresh := range []bool{false, true} {
		b.Run(fmt.Sprintf("new blocks=%v", fresh), func(b *testing.B) {
			backend := schedulertest.New(scheduler.Limits{Cells: 1 << 17, Context: 1 << 14, Batch: 8192, Sequences: 256, Rows: 256})
			s := newScheduler(b, backend, scheduler.Config{Slots: 256})
			var streams []*scheduler.Stream
			fill := func() {
				for _, st := range streams {
					st.Cancel()
				}
				s.Tick()
				streams = streams[:0]
				for i := range 256 {
					r := request(400, i, 8000)
					r.CachePrompt = false
					streams = append(streams, submit(b, s, r))
				}
				for range 40 {
					s.Tick()
				}
				if n := scheduler.SnapshotOf(s); n.CellsUsed-n.CellsCached < 100_000 {
					b.Fatalf("%d cells", n.CellsUsed-n.CellsCached)
				}
			}
			fill()
			for range 20 { // until all digests are there
				scheduler.LookAtLoad(s)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for n := range b.N {
				if fresh && n%8 == 0 { // 1,024 of the 1,536 blocks
					b.StopTimer()
					fill()
					b.StartTimer()
				}
				scheduler.LookAtLoad(s)
			}
		})
	}
}
