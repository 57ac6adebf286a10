// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/must"
)

// Stages that finish when the tick stops waiting for them: whoever is first, no answer is left
// lying, and each has the text it has alone, also where a mask is applied to a row that the next
// pass overwrites.
func TestWorker_LateStage_HammerIsNeverForgotten(t *testing.T) {
	s := must.Get(scheduler.New(schedulertest.New(scheduler.Limits{}), scheduler.Config{}))(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	patient, giveUp := context.WithTimeout(ctx, 5*time.Minute)
	defer giveUp()
	everything := slices.Repeat([]uint32{^uint32(0)}, 256/32)
	want := alone(t, request(10, 1, 100)).text
	var readers sync.WaitGroup
	for i := range 8 {
		took := time.Duration(i) * 10 * time.Microsecond
		sluggish := &guest{apply: func(*chain.View) error {
			for end := time.Now().Add(950*time.Microsecond + took); time.Now().Before(end); {
				runtime.Gosched()
			}
			return nil
		}}
		if i%2 == 1 {
			sluggish.prepare = func() (chain.Prepared, error) { return chain.Prepared{Mask: everything}, nil }
		}
		st := submit(t, s, guided(100, sluggish))
		readers.Go(func() {
			n, text := 0, ""
			for e := range schedulertest.Events(patient, st) {
				if e.Kind == scheduler.KindToken {
					n++
				}
				text += e.Text
			}
			if n != 100 || text != want {
				t.Errorf("%d tokens of 100: %q, alone %q", n, text, want)
			}
		})
	}
	readers.Wait()
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
