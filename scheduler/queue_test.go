// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// However many requests of higher priority keep coming, one of a lower priority has its turn.
func TestScheduler_Priority_Ages(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	s := newScheduler(t, b, scheduler.Config{Slots: 1})
	urgent := func() *scheduler.Stream {
		r := request(10, 1, 3)
		r.Priority = 2
		return submit(t, s, r)
	}
	running, waiting := urgent(), urgent()
	low := submit(t, s, request(10, 2, 3))
	var a, first received
	for range 100 { // seconds
		for first.end == nil {
			s.Tick()
			first.read(running)
		}
		running, waiting, first = waiting, urgent(), received{}
		if a.read(low); a.end != nil {
			break
		}
		b.Advance(time.Second)
	}
	waited := a.end
	if waited == nil {
		t.Fatal("the request of lower priority never had its turn")
	}
	if q := waited.Timing.Queued; q < 15*time.Second || q > 30*time.Second {
		t.Errorf("it waited for %v, with two steps of priority less", q)
	}
	running.Cancel()
	waiting.Cancel()
	s.Tick()
}
