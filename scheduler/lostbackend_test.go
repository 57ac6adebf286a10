// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// The backend is lost in the middle of two answers: they end with the reason, and those that wait
// are answered once it is back, as if nothing had been.
func TestScheduler_Lost(t *testing.T) {
	for _, how := range []string{"in a pass", "between passes"} {
		t.Run(how, func(t *testing.T) {
			b := schedulertest.New(scheduler.Limits{})
			s := newScheduler(t, b, scheduler.Config{Slots: 2, ArchiveBytes: 1 << 20})
			running := []*scheduler.Stream{submit(t, s, request(10, 1, 30)), submit(t, s, request(10, 2, 30))}
			waiting := []*scheduler.Stream{submit(t, s, request(10, 3, 30)), submit(t, s, request(10, 4, 30))}
			for range 5 {
				s.Tick()
			}
			reason := fmt.Errorf("%w: the worker is gone", scheduler.ErrLost)
			b.Fail = func(*scheduler.Batch) error { return reason }
			if how == "between passes" {
				done := make(chan struct{})
				go func() { s.Lose(reason); s.Lose(reason); close(done) }()
				for working := true; working; {
					scheduler.TakeCommands(s)
					select {
					case <-done:
						working = false
					default:
					}
				}
			}
			s.Tick()
			for i, a := range finish(t, s, running...) {
				if a.end.Reason != answer.ReasonError || !errors.Is(a.end.Err, scheduler.ErrLost) {
					t.Errorf("the running answer %d ended with %v, %v", i, a.end.Reason, a.end.Err)
				}
			}
			passes := b.Passes
			if s.Tick() || b.Passes != passes {
				t.Error("it goes on computing")
			}
			for seq := range int32(b.Limits().Sequences) { // what is back is empty
				b.Truncate(seq, 0)
			}
			b.Fail = nil
			s.Revive()
			for i, a := range finish(t, s, waiting...) {
				if want := alone(t, request(10, 3+i, 30)); a.text != want.text {
					t.Errorf("the waiting answer %d is %q (%v), alone %q", i, a.text, a.end.Err, want.text)
				}
			}
		})
	}
}

// losable is a backend that can say that it was lost.
type losable struct {
	*schedulertest.Backend
	lost error
}

func (b *losable) Lost() error { return b.lost }

// A copy that was made of a lost memory is not handed out, though no pass has failed yet.
func TestScheduler_Lost_SavedSlot(t *testing.T) {
	b := &losable{Backend: schedulertest.New(scheduler.Limits{})}
	s := newScheduler(t, b, scheduler.Config{ArchiveBytes: 1 << 20})
	finish(t, s, submit(t, s, request(10, 1, 5)))
	b.lost = scheduler.ErrLost
	result := make(chan error, 1)
	go func() {
		_, err := s.SaveSlot(t.Context(), 0, "")
		result <- err
	}()
	for {
		s.Tick()
		select {
		case err := <-result:
			if !errors.Is(err, scheduler.ErrLost) {
				t.Errorf("%v, want ErrLost", err)
			}
			return
		default:
		}
	}
}

// What is asked of a slot meanwhile waits, but not for ever: a client that gives up gets its
// answer.
func TestScheduler_Lost_ClientGivesUp(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	finish(t, s, submit(t, s, request(10, 1, 5)))
	lost := make(chan struct{})
	go func() { s.Lose(scheduler.ErrLost); close(lost) }()
	tickUntil(s, lost)
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan struct{})
	var err error
	go func() { defer close(answered); _, err = s.EraseSlot(ctx, 0, "") }()
	for range 100 {
		s.Tick()
	}
	select {
	case <-answered:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
	cancel()
	tickUntil(s, answered)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that the client gave up", err)
	}
}

func tickUntil(s *scheduler.Scheduler, done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		default:
			s.Tick()
		}
	}
}

// released is a backend that counts the passes after its owner has let it go.
type released struct {
	*schedulertest.Machine
	gone  bool
	after int
}

func (b *released) Start(batch *scheduler.Batch) error {
	if b.gone {
		b.after++
	}
	return b.Machine.Start(batch)
}

// When Lose has returned the backend is not used any more, also where a request is held back for
// others just then. It stays in the queue.
func TestScheduler_Lose_WhileARequestIsHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &released{Machine: schedulertest.NewMachine(schedulertest.New(scheduler.Limits{}), 2)}
		s, err := scheduler.New(b, scheduler.Config{Slots: 2})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		arrived := s.Expect() // another is on its way
		st := submit(t, s, request(50, 1, 3))
		time.Sleep(time.Millisecond)
		s.Lose(fmt.Errorf("%w: the worker is gone", scheduler.ErrLost))
		b.gone = true
		time.Sleep(time.Second)
		arrived()
		synctest.Wait()
		if _, told := st.TryNext(); b.after > 0 || told {
			t.Errorf("%d passes after Lose had returned; the request that waits was told something: %v", b.after, told)
		}
		if snap, err := s.Inspect(ctx, 0); err != nil || len(snap.Queue) != 1 {
			t.Errorf("%d wait in the queue (%v)", len(snap.Queue), err)
		}
		stop()
		<-done
	})
}
