// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/draft"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// sleeper is a backend whose passes take time by the test's clock. It notes passes at once on one
// machine.
type sleeper struct {
	*schedulertest.Backend
	computing *atomic.Int32
	together  *atomic.Int32
}

func (s sleeper) Start(b *scheduler.Batch) error {
	if s.computing.Add(1) > 1 {
		s.together.Add(1)
	}
	return s.Backend.Start(b)
}

func (s sleeper) Wait() error {
	before := s.Now()
	err := s.Backend.Wait()
	time.Sleep(s.Now().Sub(before))
	s.computing.Add(-1)
	return err
}

// twoModels are two schedulers of one machine.
type twoModels struct {
	computing, together atomic.Int32
	schedulers          [2]*scheduler.Scheduler
}

// run starts the schedulers, with these turns, until the test ends. A token of a prompt takes a
// millisecond.
func (m *twoModels) run(t *testing.T, turns *scheduler.ComputeLock) {
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	for i := range m.schedulers {
		b := schedulertest.New(scheduler.Limits{Cells: 1 << 14, Context: 1 << 14, Batch: 2048, Sequences: 8})
		b.Cost = func(tokens, _ int) time.Duration { return 5*time.Millisecond + time.Duration(tokens)*time.Millisecond }
		s, err := scheduler.New(sleeper{b, &m.computing, &m.together}, scheduler.Config{Slots: 4, ITLTarget: 80 * time.Millisecond, ComputeLock: turns})
		if err != nil {
			t.Fatal(err)
		}
		m.schedulers[i] = s
		go func() { _ = s.Run(ctx) }()
	}
}

// longestGap reads an answer to its end.
func longestGap(t *testing.T, st *scheduler.Stream) (longest time.Duration) {
	var last time.Time
	for {
		e, err := st.Next(t.Context())
		if err != nil {
			t.Error(err)
			return 0
		}
		if e.Kind == scheduler.KindEnd {
			return longest
		}
		if e.Kind == scheduler.KindToken {
			if now := time.Now(); !last.IsZero() {
				longest = max(longest, now.Sub(last))
			}
			last = time.Now()
		}
	}
}

// TestTurns_TwoModels_ComputeInTurns: passes never run at once, and while one model answers, the
// prompts of the other are computed in chunks that keep to the target.
func TestTurns_TwoModels_ComputeInTurns(t *testing.T) {
	gap := func(inTurns bool) (longest time.Duration, together int32) {
		synctest.Test(t, func(t *testing.T) {
			var m twoModels
			var turns *scheduler.ComputeLock
			if inTurns {
				turns = scheduler.NewComputeLock() // within the bubble
			}
			m.run(t, turns)
			answer := submit(t, m.schedulers[0], request(5, 1, 200))
			prompts := []*scheduler.Stream{submit(t, m.schedulers[1], request(3000, 2, 1)), submit(t, m.schedulers[1], request(2000, 3, 1))}
			longest = longestGap(t, answer)
			for _, p := range prompts {
				longestGap(t, p)
			}
			together = m.together.Load()
		})
		return longest, together
	}
	longest, together := gap(true)
	if together > 0 || longest > 100*time.Millisecond {
		t.Errorf("in turns: %d passes at once, a gap of %v", together, longest)
	}
	if _, together := gap(false); together == 0 {
		t.Error("without turns no passes ran at once: the test proves nothing")
	}
}

// gated is a backend whose next pass takes until it is let go.
type gated struct {
	*schedulertest.Backend
	gate chan struct{} // nil: it takes no time
}

func (b *gated) Wait() error {
	if b.gate != nil {
		<-b.gate
		b.gate = nil
	}
	return b.Backend.Wait()
}

// counting is a drafter that counts how often it is asked.
type counting struct{ times atomic.Int32 }

func (d *counting) Draft([]*draft.Ask) { d.times.Add(1) }

// A drafter may be a model. It computes in the turn of its scheduler only.
func TestTurns_DraftsHaveTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := scheduler.NewComputeLock()
		other := &gated{Backend: schedulertest.New(scheduler.Limits{})}
		first := newScheduler(t, other, scheduler.Config{ComputeLock: turns})
		b, drafter := schedulertest.New(scheduler.Limits{}), new(counting)
		b.Cost = flat
		second := newScheduler(t, b, scheduler.Config{ComputeLock: turns, Drafter: drafter})
		submit(t, second, request(20, 1, 200))
		for range 5 {
			second.Tick()
		}
		submit(t, first, request(20, 1, 20))
		gate := make(chan struct{})
		other.gate = gate
		var both sync.WaitGroup
		both.Go(func() { first.Tick() })
		synctest.Wait() // it is the first one's turn now
		before := drafter.times.Load()
		both.Go(func() { second.Tick() })
		if synctest.Wait(); drafter.times.Load() > before {
			t.Error("the drafter computes in the turn of the other scheduler")
		}
		close(gate)
		if both.Wait(); drafter.times.Load() == before {
			t.Error("it has not computed in its own turn")
		}
	})
}
