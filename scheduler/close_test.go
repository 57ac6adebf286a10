// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
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

// A request that ends while its stages are at work is closed on their goroutine, while the tick
// still collects what they did. The race detector looks at what both count.
func TestWorker_EndsWhileLate_IsCountedByOneAtATime(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	release, closed := make(chan struct{}), make(chan struct{})
	st := submit(t, s, guided(20, &closing{guest: guest{apply: func(*chain.View) error { <-release; return nil }}, closed: closed}))
	for scheduler.Awaited(s) == 0 {
		s.Tick()
	}
	st.Cancel()
	s.Tick()
	close(release)
	<-closed
	for scheduler.Awaited(s) > 0 {
		s.Tick()
	}
}

// closing says when it is closed.
type closing struct {
	guest
	closed chan struct{}
}

func (c *closing) Close() error {
	close(c.closed)
	return nil
}
