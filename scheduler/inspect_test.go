// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/estimator"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/must"
)

// inspectedSlot is what a scheduler says of the slot of a stream.
func inspectedSlot(t *testing.T, s *scheduler.Scheduler, st *scheduler.Stream) scheduler.SlotInfo {
	t.Helper()
	slots := scheduler.SnapshotOf(s).Slots
	i := slices.IndexFunc(slots, func(i scheduler.SlotInfo) bool { return i.Stream == st.ID() })
	if i < 0 {
		t.Fatalf("no slot has it: %+v", slots)
	}
	return slots[i]
}

// A slot that takes no part in the ticks says what it waits for.
func TestScheduler_Inspect_WhatSlotsWaitFor(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	b.Cost = schedulertest.Measured.Cost
	s := newScheduler(t, b, scheduler.Config{})
	gate := make(chan struct{})
	defer close(gate)
	slowReader := request(10, 1, 100)
	slowReader.Buffer = 8
	late := guided(8, &guest{apply: func(*chain.View) error { <-gate; return nil }})
	late.Priority = 2
	paused, unread, stuck, runs := submit(t, s, request(10, 2, 100)), submit(t, s, slowReader), submit(t, s, late), submit(t, s, request(10, 3, 1000))
	rests := submit(t, s, guided(8, &guest{}))
	for range 3 {
		s.Tick()
	}
	must.Do(t, control(t, s, paused.Pause))
	for scheduler.Awaited(s) > 1 { // the stage that rests may have been late, too
		s.Tick()
	}
	scheduler.Rest(rests, time.Hour)
	for range 20 {
		s.Tick()
	}
	for want, st := range map[scheduler.WaitReason]*scheduler.Stream{
		scheduler.WaitPaused: paused, scheduler.WaitReader: unread, scheduler.WaitBackground: stuck, scheduler.WaitQuota: rests, "": runs,
	} {
		if got := inspectedSlot(t, s, st); got.Wait != want || (got.State == "parked") != (want != "") {
			t.Errorf("%q: %+v", want, got)
		}
	}
	if got := inspectedSlot(t, s, stuck); got.Priority != 2 || got.Decoding != 0 {
		t.Errorf("%+v", got)
	}
	if got := inspectedSlot(t, s, runs); got.Decoding <= 0 || got.Decoding >= got.Age || got.Generated < 20 {
		t.Errorf("%+v", got)
	}
	for _, st := range []*scheduler.Stream{paused, unread, stuck, runs, rests} {
		st.Cancel()
	}
	s.Tick()
}

func TestScheduler_Inspect_NamesTheStagesThatStay(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	st := submit(t, s, guided(8, &named{name: "plugin:a"}, &named{name: "plugin:b"}))
	plain := submit(t, s, request(10, 1, 8))
	s.Tick()
	if diff := cmp.Diff([]string{"plugin:a", "plugin:b"}, inspectedSlot(t, s, st).Lasting); diff != "" {
		t.Error(diff)
	}
	if got := inspectedSlot(t, s, plain).Lasting; got != nil {
		t.Errorf("%v", got)
	}
	finish(t, s, st, plain)
}

// A prompt that others go before waits for its turn, one without room in the cache for cells.
func TestScheduler_Inspect_PromptsWait(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{Cells: 4096, Context: 2048, Batch: 64}), scheduler.Config{})
	first, second := submit(t, s, request(500, 1, 3)), submit(t, s, request(600, 2, 3))
	s.Tick()
	a, b := inspectedSlot(t, s, first), inspectedSlot(t, s, second)
	if a.Wait != "" || a.State != "prefilling" || a.Computed != 64 || b.Wait != scheduler.WaitPrompts || b.Computed != 0 {
		t.Errorf("the first %+v, the second %+v", a, b)
	}
	finish(t, s, first, second)
}

func TestScheduler_Inspect_Queue(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Cells: 8192, Context: 2048, Batch: 64})
	s := newScheduler(t, b, scheduler.Config{Slots: 2})
	zero := 0
	own := request(30, 5, 5)
	own.Slot = &zero
	r := request(500, 1, 5)
	leader, runs := submit(t, s, r), submit(t, s, request(10, 9, 1000))
	s.Tick()
	waits := []*scheduler.Stream{submit(t, s, request(40, 7, 5)), submit(t, s, own), submit(t, s, request(20, 8, 5))}
	s.Tick()
	must.Do(t, control(t, s, waits[2].Pause))
	b.Advance(time.Second)
	var got []scheduler.QueueInfo
	for _, q := range scheduler.SnapshotOf(s).Queue {
		if q.Age < time.Second {
			t.Errorf("age %v", q.Age)
		}
		q.Age = 0
		got = append(got, q)
	}
	want := []scheduler.QueueInfo{{Stream: waits[0].ID(), Wait: scheduler.WaitSlot, Prompt: 40}, {Stream: waits[1].ID(), Wait: scheduler.WaitSlot, Prompt: 30},
		{Stream: waits[2].ID(), Wait: scheduler.WaitPaused, Prompt: 20}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, st := range append(waits, leader, runs) {
		st.Cancel()
	}
	s.Tick()
}

// What keeps a request from a free slot: another that computes the same prompt, or the cells of
// those that run.
func TestScheduler_Inspect_QueueBesideFreeSlots(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Cells: 1024, Context: 1024, Batch: 64})
	s := newScheduler(t, b, scheduler.Config{Slots: 4})
	running := []*scheduler.Stream{submit(t, s, request(600, 1, 5))}
	s.Tick()
	running = append(running, submit(t, s, request(600, 1, 5)), submit(t, s, request(700, 2, 5)))
	s.Tick()
	queue := scheduler.SnapshotOf(s).Queue
	if len(queue) != 2 || queue[0].Wait != scheduler.WaitPrefix || queue[1].Wait != scheduler.WaitCells {
		t.Errorf("%+v", queue)
	}
	finish(t, s, running...)
	if snap := scheduler.SnapshotOf(s); snap.Queue != nil || snap.CellsUsed != scheduler.Held(s) || snap.CellsCached == 0 || snap.CellsCached > snap.CellsUsed || snap.Cells != 1024 {
		t.Errorf("%+v", snap)
	}
}

func TestScheduler_Inspect_CountsTicks(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	finish(t, s, submit(t, s, request(10, 1, 20)))
	snap := scheduler.SnapshotWithTicks(s, 5)
	if snap.TickCount < 20 || len(snap.Ticks) != 5 || cap(snap.Ticks) != 5 || snap.Ticks[4].Decode != 1 {
		t.Errorf("%d ticks, of which %+v", snap.TickCount, snap.Ticks)
	}
	if all := scheduler.SnapshotWithTicks(s, 1<<20); len(all.Ticks) != snap.TickCount {
		t.Errorf("%d of %d ticks", len(all.Ticks), snap.TickCount)
	}
}

// BenchmarkScheduler_Inspect is what a look costs the tick, with all slots in use and as many
// ticks as a live frame has.
func BenchmarkScheduler_Inspect(b *testing.B) {
	s := newScheduler(b, schedulertest.New(scheduler.Limits{Cells: 1 << 17, Context: 1 << 14}), scheduler.Config{})
	for i := range 16 {
		st := submit(b, s, request(8000, i, 1000))
		defer st.Cancel()
	}
	for range 1000 {
		s.Tick()
	}
	b.ReportAllocs()
	for b.Loop() {
		scheduler.SnapshotWithTicks(s, 500)
	}
}

// Whoever asks the tick for something is answered, also where that panics, and the next one who
// asks gets what he asks for.
func TestScheduler_Asked_AnswersAfterAPanic(t *testing.T) {
	b, broken := schedulertest.New(scheduler.Limits{}), new(atomic.Bool)
	s := must.Get(scheduler.New(b, scheduler.Config{Log: slog.New(slog.DiscardHandler), Clock: func() time.Time {
		if broken.Load() {
			panic("a broken clock")
		}
		return b.Now()
	}}))(t)
	submit(t, s, request(20, 1, 20))
	s.Tick()
	for name, ask := range map[string]func(context.Context) error{
		"Inspect": func(ctx context.Context) error { _, err := s.Inspect(ctx, 1); return err },
		"Load":    func(ctx context.Context) error { _, err := s.Load(ctx); return err },
		"Lose":    func(context.Context) error { s.Lose(scheduler.ErrLost); return nil },
	} {
		broken.Store(true)
		if err := control(t, s, ask); err == nil && name != "Lose" {
			t.Errorf("%s: no error", name)
		}
		broken.Store(false)
		if err := control(t, s, ask); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

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
	must.Do(t, s.Run(ctx))
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

// tokenCounter adds up what the records of ticks say was computed.
type tokenCounter struct{ tokens, preempted int }

func (c *tokenCounter) Tick(r scheduler.TickRecord) {
	c.tokens += r.Prefill + r.Decode + r.Drafted
	c.preempted += r.Preempted
}

// A prompt that is planned first, and then preempted for one that came before it, is not counted:
// its tokens are not computed.
func TestTickRecord_PlannedPromptPreempted_NotCounted(t *testing.T) {
	counter := &tokenCounter{}
	b := schedulertest.New(scheduler.Limits{Cells: 256})
	s := newScheduler(t, b, scheduler.Config{Strategy: estimator.PrefillPriority{}})
	s.Listen(scheduler.Listener{Tick: counter.Tick})
	submit(t, s, request(10, 3, 200)) // it generates, so that the strategy is asked
	first, second := submit(t, s, request(100, 1, 200)), submit(t, s, request(60, 2, 200))
	for b.Tokens < 10+100+60 {
		s.Tick()
	}
	for st, n := range map[*scheduler.Stream]int{first: 80, second: 70} {
		tokens := make([]scheduler.Token, n)
		for i := range tokens {
			tokens[i] = scheduler.Token(1 + i)
		}
		must.Do(t, control(t, s, func(ctx context.Context) error { return st.Inject(ctx, tokens) }))
	}
	s.Tick()
	if counter.preempted == 0 {
		t.Error("no prompt was preempted")
	}
	if counter.tokens != b.Tokens {
		t.Errorf("the records have %d tokens, the passes had %d", counter.tokens, b.Tokens)
	}
}

// Each listener is told of all requests and ticks, with what the request's context has, until it is
// stopped.
func TestScheduler_Listen_UntilStopped(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	type key struct{}
	type counts struct{ ticks, first, later, ended int }
	var told [2]counts
	var stop [2]func()
	for i := range told {
		c := &told[i]
		stop[i] = s.Listen(scheduler.Listener{
			Tick:  func(scheduler.TickRecord) { c.ticks++ },
			First: func(time.Duration) { c.first++ },
			Token: func(time.Duration) { c.later++ },
			Ended: func(r scheduler.RequestRecord) {
				if r.Context.Value(key{}) == "mine" && r.Usage.Generated == 5 {
					c.ended++
				}
			},
		})
	}
	for range 2 {
		r := request(10, 1, 5)
		r.Context = context.WithValue(t.Context(), key{}, "mine")
		finish(t, s, submit(t, s, r))
		stop[0]()
		stop[0]()
	}
	once := counts{ticks: told[0].ticks, first: 1, later: 4, ended: 1}
	twice := counts{ticks: told[1].ticks, first: 2, later: 8, ended: 2}
	if told[0] != once || told[1] != twice || told[1].ticks <= told[0].ticks {
		t.Errorf("the one that was stopped after a request was told of %+v, the other of %+v", told[0], told[1])
	}
}

// The submitter of a request learns of its end before the reader does, and so do listeners.
func TestRequest_Ended_IsToldFirst(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{Cells: 256}), scheduler.Config{})
	var told []scheduler.RequestRecord
	r := request(10, 1, 3)
	var st *scheduler.Stream
	ended := func(record scheduler.RequestRecord) {
		told = append(told, record)
		for e, ok := st.TryNext(); ok; e, ok = st.TryNext() {
			if e.Kind == scheduler.KindEnd {
				t.Error("the reader was told first")
			}
		}
	}
	r.Ended = ended
	s.Listen(scheduler.Listener{Ended: ended})
	st = submit(t, s, r)
	for range 20 {
		s.Tick()
	}
	e, ok := st.TryNext()
	if !ok || e.Kind != scheduler.KindEnd || len(told) != 2 {
		t.Fatalf("%+v; told %d times", e, len(told))
	}
	if got := told[0]; got.Reason != e.End.Reason || got.Usage != e.End.Usage || got.Usage.Generated != 3 {
		t.Errorf("told of %+v, the stream of %+v", got, e.End)
	}
}

func TestScheduler_Progress_TellsOfEachChunk(t *testing.T) {
	for _, wanted := range []bool{true, false} {
		s := newScheduler(t, schedulertest.New(scheduler.Limits{Batch: 16}), scheduler.Config{Slots: 1})
		r := request(40, 1, 2)
		r.Progress = wanted
		var got []int
		for _, e := range finish(t, s, submit(t, s, r))[0].events {
			if e.Kind == scheduler.KindProgress {
				got = append(got, e.Computed)
			}
		}
		want := []int{16, 32, 40}
		if !wanted {
			want = nil
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("asked for %v: %s", wanted, diff)
		}
	}
}

// The token that ended an answer is told with the end.
func TestScheduler_End_TellsTheToken(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	b.End = 23
	s := newScheduler(t, b, scheduler.Config{})
	r := request(20, 1, 0)
	r.Logprobs = 1
	a := finish(t, s, submit(t, s, r))[0]
	if e := a.end.EndToken; a.end.Reason != answer.ReasonStop || e == nil || e.Token != schedulertest.EndToken || e.Logprobs == nil {
		t.Errorf("%+v", a.end)
	}
	if a := finish(t, s, submit(t, s, request(2, 1, 3)))[0]; a.end.EndToken != nil {
		t.Errorf("an answer that ended for its length: %+v", a.end)
	}
}
