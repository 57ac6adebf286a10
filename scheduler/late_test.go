// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// Stages that come about when the tick stops waiting for them: whoever is first, no answer is left lying.
func TestCrew_LateStage_HammerIsNeverForgotten(t *testing.T) {
	s, err := scheduler.New(schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	patient, giveUp := context.WithTimeout(ctx, time.Minute)
	defer giveUp()
	var readers sync.WaitGroup
	for i := range 8 {
		took := time.Duration(i) * 10 * time.Microsecond
		sluggish := &guest{apply: func(*scheduler.View) error {
			for end := time.Now().Add(950*time.Microsecond + took); time.Now().Before(end); {
				runtime.Gosched()
			}
			return nil
		}}
		st := submit(t, s, guided(100, sluggish))
		readers.Go(func() {
			n := 0
			for e := range st.All(patient) {
				if e.Kind == scheduler.KindToken {
					n++
				}
			}
			if n != 100 {
				t.Errorf("%d tokens of 100", n)
			}
		})
	}
	readers.Wait()
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
