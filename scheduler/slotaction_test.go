// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/must"
)

// ticking runs a call that takes several ticks.
func ticking[T any](s *scheduler.Scheduler, f func(context.Context) (T, error)) (v T, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		v, err = f(context.Background())
	}()
	for {
		select {
		case <-done:
			return v, err
		default:
			s.Tick()
		}
	}
}

func besideTicks[T any](t *testing.T, s *scheduler.Scheduler, f func(context.Context) (T, error)) T {
	t.Helper()
	return must.Get(ticking(s, f))(t)
}

func restore(s *scheduler.Scheduler, slot int, saved *kvcache.Saved) error {
	_, err := ticking(s, func(ctx context.Context) (struct{}, error) { return struct{}{}, s.RestoreSlot(ctx, slot, saved) })
	return err
}

func saveSlot(t *testing.T, s *scheduler.Scheduler, slot int, salt string) *kvcache.Saved {
	t.Helper()
	return besideTicks(t, s, func(ctx context.Context) (*kvcache.Saved, error) { return s.SaveSlot(ctx, slot, salt) })
}

func eraseSlot(t *testing.T, s *scheduler.Scheduler, slot int, salt string) int {
	t.Helper()
	return besideTicks(t, s, func(ctx context.Context) (int, error) { return s.EraseSlot(ctx, slot, salt) })
}

// longer is a request that goes on with what another has left.
func longer(r scheduler.Request, a received) scheduler.Request {
	r.Prompt = append(slices.Clone(r.Prompt), scheduler.Segment{Tokens: append(slices.Clone(a.tokens), 5, 6, 7)})
	return r
}

// A conversation that was saved, from the cache or from the archive, is restored for the next
// turn, which is the same as without.
func TestScheduler_SaveSlot_ComesBack(t *testing.T) {
	for name, archive := range map[string]int64{"no archive": 0, "archive": 1 << 20} {
		for others := range 3 {
			if others > 0 && archive == 0 {
				continue
			}
			b := schedulertest.New(scheduler.Limits{Cells: 1000, Context: 600})
			s := newScheduler(t, b, scheduler.Config{Slots: 2, ArchiveBytes: archive})
			first := request(300, 1, 10)
			a := finish(t, s, submit(t, s, first))[0]
			for i := range others { // they take the cells
				r := request(400, 2+i, 10)
				r.Slot = new(int)
				*r.Slot = 1
				finish(t, s, submit(t, s, r))
			}
			saved := saveSlot(t, s, 0, "")
			if len(saved.Tokens) != 309 {
				t.Fatalf("%s: %d tokens saved", name, len(saved.Tokens))
			}
			if n := eraseSlot(t, s, 0, ""); n != 309 {
				t.Errorf("%s: %d tokens erased", name, n)
			}
			if n := eraseSlot(t, s, 0, ""); n != 0 {
				t.Errorf("%s: %d tokens erased again", name, n)
			}
			next := longer(first, a)
			must.Do(t, restore(s, 1, saved))
			if err := saved.Close(); err != nil {
				t.Error(err)
			}
			got := finish(t, s, submit(t, s, next))[0]
			if got.end.Usage.Cached != 309 {
				t.Errorf("%s: %d tokens found", name, got.end.Usage.Cached)
			}
			if want := alone(t, next); got.text != want.text {
				t.Errorf("%s: %q, want %q", name, got.text, want.text)
			}
		}
	}
}

// Salts part conversations here, too.
func TestScheduler_SaveSlot_KeepsSaltsApart(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	r := request(300, 1, 10)
	r.CacheSalt = "a"
	a := finish(t, s, submit(t, s, r))[0]
	_, err := ticking(s, func(ctx context.Context) (*kvcache.Saved, error) { return s.SaveSlot(ctx, 0, "b") })
	if !errors.Is(err, kvcache.ErrNothingCached) {
		t.Errorf("another's: %v", err)
	}
	if n := eraseSlot(t, s, 0, "b"); n != 0 {
		t.Errorf("%d tokens of another erased", n)
	}
	saved := saveSlot(t, s, 0, "a")
	defer saved.Close()
	eraseSlot(t, s, 0, "a")
	saved.Scope.Salt = "b"
	must.Do(t, restore(s, 0, saved))
	for salt, want := range map[string]int{"a": 0, "b": 309} {
		next := longer(r, a)
		next.CacheSalt = salt
		if got := finish(t, s, submit(t, s, next))[0].end.Usage.Cached; got != want {
			t.Errorf("salt %s: %d tokens found, want %d", salt, got, want)
		}
	}
}

// An action waits until its slot is idle, and for no longer than its caller.
func TestScheduler_SlotActions_WaitForTheSlot(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{Slots: 2})
	st, a := begin(t, s, request(100, 1, 50), 3)
	ctx, cancel := context.WithCancel(t.Context())
	refused := make(chan error, 1)
	go func() { _, err := s.EraseSlot(ctx, 0, ""); refused <- err }()
	results := make(chan *kvcache.Saved, 1)
	go func() { saved, _ := s.SaveSlot(t.Context(), 0, ""); results <- saved }()
	for scheduler.WaitingActions(s) < 2 {
		scheduler.TakeCommands(s)
	}
	cancel()
	var saved *kvcache.Saved
	for saved == nil {
		s.Tick()
		a.read(st)
		select {
		case saved = <-results:
		default:
		}
	}
	defer saved.Close()
	if a.end == nil {
		t.Error("the conversation was saved while its answer grew")
	}
	if err := <-refused; !errors.Is(err, context.Canceled) {
		t.Errorf("erasing for nobody: %v", err)
	}
	if len(saved.Tokens) != 149 {
		t.Errorf("%d tokens", len(saved.Tokens))
	}
}

// thirdLook is a memory that copies on a thread of its own: every third look finds a copy done.
type thirdLook struct {
	*schedulertest.Backend
	looks int
}

func (m *thirdLook) ContinueCopy(limit time.Duration, here bool) (done bool) {
	if limit > 0 {
		if m.looks++; m.looks%3 != 0 {
			return false
		}
		limit = -1
	}
	return m.Backend.ContinueCopy(limit, here)
}

// An action that finds a copy unfinished is tried again, also if that copy ends later in the same
// tick.
func TestScheduler_SlotActions_FollowACopyThatEndsInTheTick(t *testing.T) {
	b := &thirdLook{Backend: schedulertest.New(scheduler.Limits{Sequences: 4})}
	s := newScheduler(t, b, scheduler.Config{Slots: 2, ArchiveBytes: 1 << 20})
	finish(t, s, submit(t, s, request(100, 1, 10)))
	post := func(f func()) {
		waiting := scheduler.WaitingActions(s)
		go f()
		for scheduler.WaitingActions(s) == waiting {
			scheduler.TakeCommands(s)
		}
	}
	saved, erased := make(chan *kvcache.Saved, 1), make(chan int, 1)
	post(func() { v, _ := s.SaveSlot(context.Background(), 0, ""); saved <- v })
	post(func() { n, _ := s.EraseSlot(context.Background(), 0, ""); erased <- n })
	for busy := true; scheduler.WaitingActions(s) > 0; busy = s.Tick() {
		if !busy {
			t.Fatalf("the scheduler rests after %d looks at the copy, and an action waits", b.looks)
		}
	}
	if v := <-saved; v == nil || v.Close() != nil {
		t.Errorf("saved: %v", v)
	}
	if n := <-erased; n != 109 {
		t.Errorf("%d tokens erased", n)
	}
	rest(s)
}

// Saving and restoring take no tick longer than other copies: the generating slots get their
// tokens meanwhile.
func TestScheduler_SlotActions_HoldNobodyUp(t *testing.T) {
	synctest.Test(t, slotActionsHoldNobodyUp)
}

func slotActionsHoldNobodyUp(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Cells: 8000, Context: 4000})
	b.Cost = func(tokens, _ int) time.Duration { return time.Millisecond * time.Duration(1+tokens/100) }
	b.CopyCost = 50 * time.Microsecond // 150 ms for all
	s := newScheduler(t, b, scheduler.Config{Slots: 2, Clock: b.Now})
	finish(t, s, submit(t, s, request(3000, 1, 5)))
	other := request(50, 2, 3000)
	other.Slot = new(int)
	*other.Slot = 1
	st, a := begin(t, s, other, 3)
	longest := time.Duration(0)
	tick := func() {
		before := b.Now()
		s.Tick()
		a.read(st)
		longest = max(longest, b.Now().Sub(before))
	}
	results := make(chan *kvcache.Saved, 1)
	go func() { saved, _ := s.SaveSlot(t.Context(), 0, ""); results <- saved }()
	synctest.Wait()
	var saved *kvcache.Saved
	for saved == nil && a.end == nil {
		tick()
		synctest.Wait()
		select {
		case saved = <-results:
		default:
		}
	}
	if saved == nil {
		t.Fatal("it was not saved beside a stream")
	}
	defer saved.Close()
	restored := make(chan error, 1)
	go func() { restored <- s.RestoreSlot(t.Context(), 0, saved) }()
	synctest.Wait()
	for done := false; !done && a.end == nil; {
		tick()
		synctest.Wait()
		select {
		case err := <-restored:
			if done = true; err != nil {
				t.Fatal(err)
			}
		default:
		}
	}
	for a.end == nil {
		tick()
	}
	if longest > 40*time.Millisecond {
		t.Errorf("a tick took %v", longest)
	}
	if b.Forced > 0 {
		t.Errorf("%d copies were forced", b.Forced)
	}
}

func TestScheduler_RestoreSlot_WhatIsNoneOfItsIsRefused(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	s := newScheduler(t, b, scheduler.Config{Slots: 2})
	finish(t, s, submit(t, s, request(100, 1, 10)))
	saved := saveSlot(t, s, 0, "")
	defer saved.Close()
	for name, tokens := range map[string][]scheduler.Token{"none": nil, "too many": make([]scheduler.Token, 5000), "unknown": {1000}, "negative": {-1}} {
		if err := restore(s, 0, &kvcache.Saved{Tokens: tokens, State: saved.State}); !errors.Is(err, scheduler.ErrBadRequest) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, at := range [][]int{{0}, {5, 5}, {5, 4}, {len(saved.Tokens) + 1}, {-1}} {
		wrong := *saved
		for _, n := range at {
			wrong.Checkpoints = append(wrong.Checkpoints, kvcache.SavedCheckpoint{N: n, State: saved.State})
		}
		if err := restore(s, 0, &wrong); !errors.Is(err, scheduler.ErrBadRequest) {
			t.Errorf("checkpoints at %v: %v", at, err)
		}
	}
	for _, slot := range []int{-1, 2} {
		if err := restore(s, slot, saved); !errors.Is(err, scheduler.ErrBadRequest) {
			t.Errorf("slot %d: %v", slot, err)
		}
	}
	b.FailRestore = true
	if err := restore(s, 0, saved); !errors.Is(err, kvcache.ErrState) {
		t.Errorf("a state of another memory: %v", err)
	}
	got := finish(t, s, submit(t, s, request(100, 1, 10)))[0]
	if want := alone(t, request(100, 1, 10)); got.text != want.text {
		t.Errorf("afterwards %q, want %q", got.text, want.text)
	}
}

// Callers that wait when the scheduler ends get an error.
func TestScheduler_SlotActions_EndWithIt(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	var slow slowness // in the slot
	st, _ := reach(t, s, guided(20, slow.guest()), 5)
	slow.ask(t, s, func(ctx context.Context) error { return st.Rewind(ctx, 1) })
	ctx, cancel := context.WithCancel(t.Context())
	results := make(chan error, 1)
	go func() { _, err := s.SaveSlot(t.Context(), 0, ""); results <- err }()
	for scheduler.WaitingActions(s) < 1 {
		s.Tick()
	}
	if s.Tick() {
		t.Error("the tick spins for an action that cannot begin")
	}
	cancel()
	close(slow.gate)
	must.Do(t, s.Run(ctx))
	if err := <-results; !errors.Is(err, scheduler.ErrClosed) {
		t.Errorf("saving: %v", err)
	}
	if _, err := s.EraseSlot(t.Context(), 0, ""); !errors.Is(err, scheduler.ErrClosed) {
		t.Errorf("erasing after the end: %v", err)
	}
}

// An answer that is paused keeps nobody from its slot, nor from the cells that it holds, for as
// long as it is paused. It goes on as if nothing had been.
func TestScheduler_SlotActions_DoNotWaitForThePaused(t *testing.T) {
	for _, slots := range []int{1, 2} { // the conversation is restored in its slot, and in the other one, for lack of cells
		s := newScheduler(t, schedulertest.New(scheduler.Limits{Cells: 600}), scheduler.Config{Slots: slots})
		finish(t, s, submit(t, s, request(300, 1, 10)))
		saved := saveSlot(t, s, 0, "")
		r := request(400, 2, 60)
		r.Slot = new(int)
		st, a := begin(t, s, r, 20)
		must.Do(t, control(t, s, st.Pause))
		must.Do(t, restore(s, slots-1, saved))
		_ = saved.Close()
		if next := finish(t, s, submit(t, s, request(300, 1, 10)))[0]; next.end.Usage.Cached == 0 {
			t.Errorf("%d slots: nothing of the conversation is there", slots)
		}
		must.Do(t, control(t, s, st.Resume))
		for s.Tick() {
			a.read(st)
		}
		if want := alone(t, request(400, 2, 60)); a.text != want.text {
			t.Errorf("%d slots: the paused answer is %q, alone %q", slots, a.text, want.text)
		}
	}
}
