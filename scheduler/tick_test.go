// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/must"
)

// Requests that come at once, each in the place of an old conversation or beginning as one does,
// hold up one that generates for a millisecond of copying a tick.
func TestScheduler_Copies_AMillisecondATick(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Cells: 4096, Sequences: 8})
	b.CopyCost = 50 * time.Microsecond
	s := newScheduler(t, b, scheduler.Config{Slots: 8, ArchiveBytes: 1 << 20})
	var old []*scheduler.Stream
	for i := range 8 {
		old = append(old, submit(t, s, request(100, i, 5)))
	}
	finish(t, s, old...)
	generating := submit(t, s, request(10, 20, 500))
	for !generates(s) {
		s.Tick()
	}
	var next []*scheduler.Stream
	for i := range 7 {
		r := request(100, 30+i, 5)
		if i > 3 {
			r = request(0, 0, 5)
			r.Prompt = slices.Concat(prompt(300, 40), prompt(10, i))
		}
		next = append(next, submit(t, s, r))
	}
	ticks, longest := untilAdmitted(s, b)
	if ticks < 10 || longest > 1050*time.Microsecond {
		t.Errorf("the longest of %d ticks took %v", ticks, longest)
	}
	generating.Cancel()
	for _, a := range finish(t, s, next...) {
		if a.end.Reason != answer.ReasonLength {
			t.Errorf("ended with %+v", a.end)
		}
	}
	if b.Forced != 0 {
		t.Errorf("%d copies were waited for", b.Forced)
	}
}

// besidePasses is a memory that copies on a thread of its own, which is slow.
type besidePasses struct{ *schedulertest.Backend }

func (m besidePasses) ContinueCopy(limit time.Duration, here bool) (done bool) {
	return (here || limit <= 0) && m.Backend.ContinueCopy(limit, here)
}

// A burst that finds old conversations in all places is admitted at once where nobody generates: a
// thread that copies beside passes would have one more request ready in each tick, and each tick
// would compute one prompt.
func TestScheduler_Copies_HereWhileNobodyGenerates(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Cells: 4096, Sequences: 8})
	b.CopyCost = 20 * time.Microsecond
	s := newScheduler(t, besidePasses{b}, scheduler.Config{Slots: 8, ArchiveBytes: 1 << 20})
	for _, salt := range []int{0, 30} {
		var all []*scheduler.Stream
		for i := range 8 {
			all = append(all, submit(t, s, request(100, salt+i, 5)))
		}
		s.Tick()
		if n := len(scheduler.SnapshotOf(s).Queue); n != 0 {
			t.Fatalf("%d requests wait for a copy after the first tick", n)
		}
		finish(t, s, all...)
	}
	if b.Copied < 8*100 {
		t.Errorf("%d tokens were copied: the old conversations are not saved", b.Copied)
	}
}

// A prefix that another conversation has is copied for as long as a pass takes: who generates
// waits twice as long for a token, and whoever has come for some tokens, not for one tick a
// millisecond.
func TestScheduler_Copies_APrefixAsLongAsAPass(t *testing.T) {
	const pass, cells = 6 * time.Millisecond, 300
	b := schedulertest.New(scheduler.Limits{Cells: 4096, Sequences: 8})
	b.CopyCost, b.Cost = 50*time.Microsecond, func(int, int) time.Duration { return pass }
	s := newScheduler(t, b, scheduler.Config{Slots: 8, ArchiveBytes: 1 << 20})
	generating := submit(t, s, request(cells, 40, 500))
	for !generates(s) {
		s.Tick()
	}
	r := request(0, 0, 5)
	r.Prompt = slices.Concat(prompt(cells, 40), prompt(10, 1))
	came := submit(t, s, r)
	ticks, longest := untilAdmitted(s, b)
	if ticks > 3 || longest > 2*pass+b.CopyCost {
		t.Errorf("the longest of %d ticks took %v", ticks, longest)
	}
	generating.Cancel()
	if a := finish(t, s, came)[0]; a.end.Usage.Cached < cells {
		t.Errorf("cached %d", a.end.Usage.Cached)
	}
}

// untilAdmitted ticks until nobody waits, and gives how often and how long the longest took.
func untilAdmitted(s *scheduler.Scheduler, b *schedulertest.Backend) (ticks int, longest time.Duration) {
	for waiting := true; waiting; ticks++ {
		begin := b.Now()
		s.Tick()
		longest = max(longest, b.Now().Sub(begin))
		waiting = len(scheduler.SnapshotOf(s).Queue) > 0
	}
	return ticks, longest
}

// generates reports whether the first slot has given a token.
func generates(s *scheduler.Scheduler) bool {
	return slices.ContainsFunc(scheduler.SnapshotOf(s).Slots, func(i scheduler.SlotInfo) bool { return i.Generated > 0 })
}

// talk asks with a prompt of n tokens that begins a conversation, or goes on with one, and gives
// the whole of it.
func talk(t *testing.T, s *scheduler.Scheduler, so []scheduler.Token, more []scheduler.Segment) ([]scheduler.Token, received) {
	t.Helper()
	r := request(0, 0, 10)
	r.Prompt = append([]scheduler.Segment{{Tokens: so}}, more...)
	a := finish(t, s, submit(t, s, r))[0]
	all := slices.Clone(so)
	for _, segment := range more {
		all = append(all, segment.Tokens...)
	}
	r.Chain = []chain.Stage{schedulertest.Greedy{}}
	if want := alone(t, r); a.text != want.text {
		t.Error("the text differs from the one computed alone")
	}
	return append(all, a.tokens...), a
}

// A prefix that a request shares is not changed by the conversation that comes back into its
// source.
func TestScheduler_Share_ThenRestoreIntoItsSource(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Cells: 2000, Context: 1000, Sequences: 3})
	b.CopyCost = 20 * time.Microsecond
	s := newScheduler(t, b, scheduler.Config{Slots: 3, ArchiveBytes: 1 << 20})
	old, _ := talk(t, s, nil, prompt(300, 1))
	for i := range 3 {
		talk(t, s, nil, prompt(600, 2+i)) // old is archived
	}
	var want []received
	var all []*scheduler.Stream
	for _, segments := range [][]scheduler.Segment{
		slices.Concat(prompt(100, 4), prompt(20, 9)),
		slices.Concat([]scheduler.Segment{{Tokens: old}}, prompt(20, 8)),
		slices.Concat(prompt(100, 3), prompt(20, 7)),
	} {
		r := request(0, 0, 10)
		r.Prompt = segments
		all = append(all, submit(t, s, r))
		r.Chain = []chain.Stage{schedulertest.Greedy{}}
		want = append(want, alone(t, r))
	}
	for i, a := range finish(t, s, all...) {
		if a.text != want[i].text {
			t.Errorf("request %d: %q, alone %q", i, a.text, want[i].text)
		}
	}
	if b.Restored == 0 || b.Copied == 0 {
		t.Errorf("%d restored, %d cells copied: nothing was tried", b.Restored, b.Copied)
	}
}

// Nothing of the archive outlives the scheduler.
func TestScheduler_Run_FreesTheArchive(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Cells: 300, Context: 300, Sequences: 2})
	s := newScheduler(t, b, scheduler.Config{Slots: 2, ArchiveBytes: 1 << 20})
	for i := range 5 {
		talk(t, s, nil, prompt(200, i))
	}
	if b.States == 0 {
		t.Fatal("nothing was archived")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	must.Do(t, s.Run(ctx))
	if b.States != 0 || b.StateBytes != 0 {
		t.Errorf("%d states with %d bytes are left", b.States, b.StateBytes)
	}
}

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
