// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/schedulertest"
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
	if err := control(t, s, paused.Pause); err != nil {
		t.Fatal(err)
	}
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
	if err := control(t, s, waits[2].Pause); err != nil {
		t.Fatal(err)
	}
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
	s, err := scheduler.New(b, scheduler.Config{Log: slog.New(slog.DiscardHandler), Clock: func() time.Time {
		if broken.Load() {
			panic("a broken clock")
		}
		return b.Now()
	}})
	if err != nil {
		t.Fatal(err)
	}
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
