// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"math"
	"testing"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/must"
)

// named is a guest with a name, as a trace shows it.
type named struct {
	guest
	name string
}

func (n *named) Traits() chain.Traits {
	t := n.guest.Traits()
	t.Name = n.name
	return t
}

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

// A chain of one native stage is drawn together with others; traced it has a goroutine, and the
// same tokens.
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

// A forced token was not drawn. Its trace says who forced it, and what the model would have said.
func TestTrace_ForcedToken_TellsWhoAndInsteadOfWhat(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	force := &named{guest: preparing(chain.Prepared{Forced: []chain.Token{9}}), name: "forcer"}
	a := complete(s, submit(t, s, traced(3, force)))
	for _, tr := range tracesOf(a) {
		if tr.How != chain.Forced || tr.By != "forcer" || len(tr.Stages) != 0 || len(tr.Prepared) != 1 {
			t.Errorf("got %+v", tr)
		}
		if tr.Before.Count != 256 || tr.Before.Best[0].Token == 9 || tr.Before.Chosen.Rank < 2 {
			t.Errorf("before: %+v", tr.Before)
		}
	}
	if len(tracesOf(a)) != 3 {
		t.Errorf("%v (%v)", a.end.Reason, a.end.Err)
	}
}

func tracesOf(a *received) (traces []*chain.Trace) {
	for _, e := range a.events {
		if e.Kind == scheduler.KindToken && e.Trace != nil {
			traces = append(traces, e.Trace)
		}
	}
	return traces
}

// Wherever the token stands that is chosen in the end, each survey tells its place, also far
// behind the best.
func TestTrace_ChosenToken_ItsPlaceAtEachStage(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	last := &named{name: "last"}
	last.apply = func(v *chain.View) error { v.Chosen = v.ID[v.N-1]; return nil }
	banning := &named{name: "banning", guest: preparing(chain.Prepared{Bias: []chain.Bias{{Token: 0, Value: float32(math.Inf(-1))}, {Token: 5, Value: -1}}})}
	a := complete(s, submit(t, s, traced(3, banning, halving("half"), last)))
	if len(tracesOf(a)) != 3 {
		t.Fatalf("%v (%v)", a.end.Reason, a.end.Err)
	}
	for _, tr := range tracesOf(a) {
		if tr.How != chain.Chosen || tr.By != "last" || tr.Before.Chosen.Rank < 2 || tr.Before.Chosen.P <= 0 {
			t.Errorf("by %v %s, before: %+v", tr.How, tr.By, tr.Before.Chosen)
		}
		if len(tr.Stages) != 4 || tr.Stages[1].After.Chosen.Rank < 2 || tr.Stages[3].After.Chosen != (chain.Ranked{Rank: 1, Logit: tr.Stages[3].After.Best[0].Logit, P: 1}) {
			t.Errorf("stages: %+v", tr.Stages)
		}
		if want := (chain.PreparedTrace{Timed: chain.Timed{Name: "banning", Took: tr.Prepared[0].Took}, Allowed: -1, Banned: 1, Biased: 1}); tr.Prepared[0] != want {
			t.Errorf("prepared: %+v", tr.Prepared)
		}
	}
}

// What a stage took back before anybody saw it is in the trace of the token that came instead.
func TestTrace_Splice_TellsWhatWasTakenBack(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	editor := &named{name: "editor", guest: accepting(4, false, 2, 7, 8)}
	a := complete(s, submit(t, s, traced(6, editor)))
	traces := tracesOf(a)
	if len(traces) != 6 {
		t.Fatalf("%d traces, %v (%v)", len(traces), a.end.Reason, a.end.Err)
	}
	for i, tr := range traces {
		spliced := i == 2 || i == 3
		if (tr.How == chain.Spliced) != spliced || spliced && tr.By != "editor" || len(tr.TakenBack) > 0 != (i == 2) {
			t.Errorf("%d: %+v", i, tr)
		}
	}
	back := traces[2].TakenBack[0]
	if len(traces[2].TakenBack) != 1 || back.By != "editor" || len(back.Tokens) != 2 {
		t.Fatalf("taken back: %+v", traces[2].TakenBack)
	}
	for _, taken := range back.Tokens {
		if taken.Trace == nil || taken.Trace.Before.Chosen.Rank != 1 || taken.Trace.Before.Best[0].Token != taken.Token {
			t.Errorf("taken back: %+v", taken)
		}
	}
}

// A stage that is never content takes back as often as it may. The list stays flat and short: the
// last ones are told in full.
func TestTrace_ManySplices_AreBounded(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	n := 0
	never := &named{name: "never", guest: guest{hold: 4, accept: func(scheduler.Token) (chain.Effect, error) {
		n++
		return chain.Effect{Splice: n <= 300, Backtrack: 1}, nil
	}}}
	traces := tracesOf(complete(s, submit(t, s, traced(60, never))))
	if len(traces) != 60 {
		t.Fatalf("%d traces", len(traces))
	}
	full := 0
	for _, back := range traces[0].TakenBack {
		for _, taken := range back.Tokens {
			if taken.Trace != nil {
				full++
			}
		}
	}
	if n := len(traces[0].TakenBack); n != 256 || full != 16 || len(traces[1].TakenBack) != 0 {
		t.Errorf("%d times, %d tokens in full", n, full)
	}
}

// A client's own steps are in the traces, too.
func TestTrace_InjectAndRewind_AreTheClients(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	r := request(10, 1, 8)
	r.Trace = 1
	st, a := reach(t, s, r, 3)
	for _, f := range []func(context.Context) error{
		func(ctx context.Context) error { return st.Rewind(ctx, 2) },
		func(ctx context.Context) error { return st.Inject(ctx, []scheduler.Token{11}) },
	} {
		must.Do(t, control(t, s, f))
	}
	for a.end == nil {
		s.Tick()
		a.read(st)
	}
	traces := tracesOf(a)
	second := a.events[2].Token // the first of those that are taken back
	injected := traces[3]
	if injected.How != chain.Injected || injected.By != "" || len(injected.TakenBack) != 1 || injected.Before.Count != 0 {
		t.Fatalf("got %+v", injected)
	}
	if back := injected.TakenBack[0]; back.By != "" || len(back.Tokens) != 2 || back.Tokens[0].Token != second || back.Tokens[0].Trace != nil {
		t.Errorf("taken back: %+v", back)
	}
	if traces[4].How != chain.Chosen || len(traces[4].TakenBack) != 0 {
		t.Errorf("the next one: %+v", traces[4])
	}
}
