// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"math"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// barrier is where something waits until the test has seen that nobody waits for it.
type barrier struct {
	open  chan struct{}
	stuck bool // it was not opened while it was waited at
}

func newBarrier() *barrier { return &barrier{open: make(chan struct{})} }

func (b *barrier) wait() {
	select {
	case <-b.open:
	case <-time.After(2 * time.Minute): // else the test would never end
		b.stuck = true
	}
}

// slowRule waits at its third token.
type slowRule struct {
	*barrier
	calls int
}

func (r *slowRule) Check(scheduler.Token, string) (answer.Verdict, error) {
	if r.calls++; r.calls == 3 {
		r.wait()
	}
	return answer.Verdict{}, nil
}

func (*slowRule) Close() error { return nil }

// A stop rule is foreign code, also beside a native chain.
func TestWorker_SlowRule_OfANativeChain_DelaysItselfOnly(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	rule := &slowRule{barrier: newBarrier()}
	r := request(10, 1, 8)
	r.Rules = []answer.StopRule{rule}
	late := submit(t, s, r)
	if n := complete(s, submit(t, s, request(10, 2, 50))); len(n.tokens) != 50 {
		t.Fatalf("the neighbour got %d tokens", len(n.tokens))
	}
	close(rule.open)
	a := complete(s, late)
	if want := alone(t, request(10, 1, 8)); a.text != want.text || rule.stuck {
		t.Errorf("%q, without the wait %q; the tick waited: %v", a.text, want.text, rule.stuck)
	}
}

// slowChoice is a native stage that waits at its third token.
type slowChoice struct {
	schedulertest.Greedy
	*barrier
	calls *int
}

func (c slowChoice) Apply(v *chain.View) error {
	if *c.calls++; *c.calls == 3 {
		c.wait()
	}
	return c.Greedy.Apply(v)
}

// Log-probabilities cost an exponential for each token of the vocabulary: no neighbour waits for
// them.
func TestWorker_Logprobs_OfANativeChain_LeaveTheTick(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	choice := slowChoice{barrier: newBarrier(), calls: new(int)}
	r := request(10, 1, 8)
	r.Chain, r.Logprobs = []chain.Stage{choice}, 2
	late := submit(t, s, r)
	if n := complete(s, submit(t, s, request(10, 2, 50))); len(n.tokens) != 50 {
		t.Fatalf("the neighbour got %d tokens", len(n.tokens))
	}
	close(choice.open)
	a := complete(s, late)
	if want := alone(t, request(10, 1, 8)); a.text != want.text || *choice.calls != 8 || choice.stuck {
		t.Errorf("%q after %d calls, without the wait %q; the tick waited: %v", a.text, *choice.calls, want.text, choice.stuck)
	}
	for _, e := range a.events[1:9] {
		want := -math.Log(1 + 255*math.Exp(-10)) // the fake model's row: one 10, else 0
		if p := e.Logprobs; p == nil || math.Abs(float64(p.Token)-want) > 1e-5 || len(p.Top) != 2 || p.Top[0].Token != e.Token {
			t.Errorf("token %d has %+v, want %v", e.Token, p, want)
		}
	}
}
