// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// A job that was preempted while its stages rest goes on when they have rested, though nothing
// else happens then.
func TestScheduler_Preempted_WakesWhenItHasRested(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := scheduler.New(schedulertest.New(scheduler.Limits{Cells: 64}), scheduler.Config{})
		if err != nil {
			t.Fatal(err)
		}
		tired := submit(t, s, guided(20, &guest{}))
		s.Tick()
		synctest.Wait() // its stages are done with the first token, however long that took
		scheduler.TakeCommands(s)
		scheduler.Rest(tired, time.Hour)
		first := request(10, 2, 50)
		first.Priority = 1
		complete(s, submit(t, s, first)) // needs the cells
		if n := len(scheduler.SnapshotOf(s).Queue); n != 1 {
			t.Fatalf("%d requests wait for a slot, want the one that rests", n)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		patient, giveUp := context.WithTimeout(t.Context(), 2*time.Hour)
		defer giveUp()
		if n := tokensOf(patient, tired); n != 20 {
			t.Errorf("%d tokens of 20", n)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// tokensOf reads a stream to its end, or until ctx is done, beside a running scheduler, and counts
// its tokens.
func tokensOf(ctx context.Context, st *scheduler.Stream) (n int) {
	for e := range schedulertest.Events(ctx, st) {
		if e.Kind == scheduler.KindToken {
			n++
		}
	}
	return n
}
