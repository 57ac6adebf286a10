// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"math"
	"testing"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// named is a guest with a name, as a trace shows it.
type named struct {
	guest
	name string
}

func (n *named) Name() string { return n.name }

// halving leaves the better half of what it finds, in the row or among candidates.
func halving(name string) *named {
	n := &named{name: name}
	n.apply = func(v *chain.View) error {
		if v.N < 0 {
			v.ID, v.Logit = v.ID[:0], v.Logit[:0]
			for i, logit := range v.Row {
				v.ID, v.Logit = append(v.ID, scheduler.Token(i)), append(v.Logit, logit)
			}
			v.N = len(v.ID)
		}
		v.N /= 2
		return nil
	}
	return n
}

func traced(most int, stages ...chain.Stage) scheduler.Request {
	r := guided(most, stages...)
	r.Trace = 3
	return r
}

func TestTrace_Stages_ShowWhatEachLeft(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	mask := &named{name: "mask"}
	mask.prepare = func() (chain.Prepared, error) {
		allowed := make([]uint32, 8)
		allowed[0], allowed[1] = math.MaxUint32&^1, 0b1111 // without the end
		return chain.Prepared{Mask: allowed}, nil
	}
	a := complete(s, submit(t, s, traced(4, mask, halving("first"), halving("second"))))
	if a.end.Reason != answer.ReasonLength || len(a.tokens) != 4 {
		t.Fatalf("%v (%v) after %d tokens", a.end.Reason, a.end.Err, len(a.tokens))
	}
	for _, e := range a.events {
		if e.Kind != scheduler.KindToken {
			continue
		}
		if e.Trace == nil {
			t.Fatal("a token without a trace")
		}
		if n := e.Trace.Before.Count; n != 256 || len(e.Trace.Before.Best) != 3 {
			t.Errorf("before: %d candidates, the best %v", n, e.Trace.Before.Best)
		}
		var names []string
		var counts []int
		for _, st := range e.Trace.Stages {
			names, counts = append(names, st.Name), append(counts, st.After.Count)
			checkSurvey(t, st.After)
		}
		if len(names) != 5 || names[0] != "prepare" || names[1] != "mask" || names[2] != "first" || names[3] != "second" {
			t.Errorf("the stages are %v", names)
		}
		if counts[0] != 35 || counts[1] != 35 || counts[2] > 35 || counts[3] > counts[2] || counts[4] != 1 {
			t.Errorf("the stages left %v", counts)
		}
		if last := e.Trace.Stages[4].After.Best[0]; last.Token != e.Token || last.P != 1 {
			t.Errorf("the trace ends with %+v, the token is %d", last, e.Token)
		}
	}
}

func checkSurvey(t *testing.T, s chain.Survey) {
	t.Helper()
	if len(s.Best) != min(3, s.Count) {
		t.Errorf("%d of %d candidates", len(s.Best), s.Count)
	}
	sum := float32(0)
	for i, c := range s.Best {
		sum += c.P
		if i > 0 && c.Logit > s.Best[i-1].Logit {
			t.Errorf("not the best first: %v", s.Best)
		}
	}
	if sum > 1.0001 || s.Count <= 3 && sum < 0.9999 {
		t.Errorf("probabilities of %v sum up to %v", s.Best, sum)
	}
}

// A chain of one native stage is drawn together with others; traced it has a goroutine, and the same tokens.
func TestTrace_NativeChain_SameTokens(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	r := request(10, 1, 20)
	r.Trace = 1
	a := complete(s, submit(t, s, r))
	if want := alone(t, request(10, 1, 20)); a.text != want.text {
		t.Errorf("%q, untraced %q", a.text, want.text)
	}
}

func TestTrace_NotAskedFor_None(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	for _, e := range complete(s, submit(t, s, guided(3, halving("a")))).events {
		if e.Trace != nil {
			t.Error("a trace nobody asked for")
		}
	}
}

// Forced tokens are nobody's choice.
func TestTrace_ForcedToken_None(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	force := &guest{prepare: func() (chain.Prepared, error) { return chain.Prepared{Forced: true, Token: 9}, nil }}
	a := complete(s, submit(t, s, traced(3, force)))
	for _, e := range a.events {
		if e.Trace != nil {
			t.Errorf("a trace of a forced token: %+v", e.Trace)
		}
	}
	if len(a.tokens) != 3 {
		t.Errorf("%v (%v)", a.end.Reason, a.end.Err)
	}
}
