// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/estimator"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// tokenCounter adds up what the records of ticks say was computed.
type tokenCounter struct{ tokens, preempted int }

func (c *tokenCounter) Tick(r scheduler.TickRecord) {
	c.tokens += r.Prefill + r.Decode
	c.preempted += r.Preempted
}

func (*tokenCounter) First(time.Duration)           {}
func (*tokenCounter) Token(time.Duration)           {}
func (*tokenCounter) Ended(scheduler.RequestRecord) {}

// A prompt that is planned first, and then preempted for one that came before it, is not counted: its tokens are not computed.
func TestTickRecord_PlannedPromptPreempted_NotCounted(t *testing.T) {
	counter := &tokenCounter{}
	b := schedulertest.New(scheduler.Limits{Cells: 256})
	s := newScheduler(t, b, scheduler.Config{Observer: counter, Strategy: estimator.PrefillPriority{}})
	submit(t, s, request(10, 3, 200)) // it generates, so that the strategy is asked
	first, second := submit(t, s, request(100, 1, 200)), submit(t, s, request(60, 2, 200))
	for b.Tokens < 10+100+60 {
		s.Tick()
	}
	for st, n := range map[*scheduler.Stream]int{first: 80, second: 70} {
		tokens := make([]scheduler.Token, n)
		for i := range tokens {
			tokens[i] = scheduler.Token(1 + i)
		}
		if err := control(t, s, func(ctx context.Context) error { return st.Inject(ctx, tokens) }); err != nil {
			t.Fatal(err)
		}
	}
	s.Tick()
	if counter.preempted == 0 {
		t.Error("no prompt was preempted")
	}
	if counter.tokens != b.Tokens {
		t.Errorf("the records have %d tokens, the passes had %d", counter.tokens, b.Tokens)
	}
}
