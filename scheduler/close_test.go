// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// lingering is a stage that takes an hour to close.
type lingering struct {
	guest
	closed atomic.Bool
}

func (l *lingering) Close() error {
	time.Sleep(time.Hour)
	l.closed.Store(true)
	return nil
}

// What stages belong to is closed after Run has returned, so none may be at work then.
func TestScheduler_Run_ReturnsWhenAllStagesAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := scheduler.New(schedulertest.New(scheduler.Limits{}), scheduler.Config{})
		if err != nil {
			t.Fatal(err)
		}
		stage := new(lingering)
		submit(t, s, guided(20, stage))
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		synctest.Wait()
		stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if !stage.closed.Load() {
			t.Error("Run has returned, and a stage is still being closed")
		}
		time.Sleep(2 * time.Hour) // so that the stage is done in any case
	})
}
