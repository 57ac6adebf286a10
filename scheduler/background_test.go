// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// guest is a stage made of functions, as a plugin would be.
type guest struct {
	schedulertest.Greedy
	prepare func() (chain.Prepared, error)
	apply   func(*chain.View) error
	accept  func(scheduler.Token) (chain.Effect, error)
	rewind  func(history []scheduler.Token, prompt int) error
	hold    int
}

func (g *guest) Traits() chain.Traits {
	return chain.Traits{Prepares: true, Lasts: true, Hold: g.hold}
}

func (g *guest) Native() bool { return false }

func (g *guest) Prepare() (chain.Prepared, error) {
	if g.prepare == nil {
		return chain.Prepared{}, nil
	}
	return g.prepare()
}

func (g *guest) Apply(v *chain.View) error {
	if g.apply == nil {
		return nil
	}
	return g.apply(v)
}

func (g *guest) Accept(t scheduler.Token) (chain.Effect, error) {
	if g.accept == nil {
		return chain.Effect{}, nil
	}
	return g.accept(t)
}

func (g *guest) Reset(history []scheduler.Token, prompt int) error {
	if g.rewind == nil {
		return nil
	}
	return g.rewind(history, prompt)
}

func guided(most int, stages ...chain.Stage) scheduler.Request {
	r := request(10, 1, most)
	r.Chain = append(stages, schedulertest.Sampled{})
	return r
}

// complete ticks until one answer has ended; a late stage may leave a tick with nothing to do.
func complete(s *scheduler.Scheduler, st *scheduler.Stream) *received {
	a := new(received)
	for a.end == nil {
		s.Tick()
		a.read(st)
	}
	return a
}

// rowless is a backend that has no third row.
type rowless struct {
	*schedulertest.Backend
	asked int
}

func (b *rowless) Row(i int) []float32 {
	if b.asked++; b.asked == 3 {
		return nil
	}
	return b.Backend.Row(i)
}

// An answer whose row the backend does not have fails, and nothing else does.
func TestWorker_Draw_NoRow(t *testing.T) {
	s := newScheduler(t, &rowless{Backend: schedulertest.New(scheduler.Limits{})}, scheduler.Config{})
	r := request(10, 1, 8)
	r.Logprobs = 0
	a := complete(s, submit(t, s, r))
	if a.end.Reason != answer.ReasonError || a.end.Usage.Generated != 2 || !strings.Contains(fmt.Sprint(a.end.Err), "no logits") {
		t.Errorf("it ends as %v after %d tokens: %v", a.end.Reason, a.end.Usage.Generated, a.end.Err)
	}
	if a := complete(s, submit(t, s, r)); a.end.Reason != answer.ReasonLength {
		t.Errorf("the next ends as %v: %v", a.end.Reason, a.end.Err)
	}
}

func TestWorker_Prepare_MasksAndBiasesTheRawRow(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	allow := func(tokens ...int) []uint32 {
		mask := make([]uint32, 8)
		for _, token := range tokens {
			mask[token/32] |= 1 << (token % 32)
		}
		return mask
	}
	first := &guest{prepare: func() (chain.Prepared, error) {
		return chain.Prepared{Mask: allow(33, 34, 35), Bias: []chain.Bias{{Token: 34, Value: 1}}}, nil
	}}
	second := &guest{prepare: func() (chain.Prepared, error) {
		return chain.Prepared{Mask: allow(34, 35, 36), Bias: []chain.Bias{{Token: 34, Value: -3}, {Token: 35, Value: -1}}}, nil
	}}
	a := complete(s, submit(t, s, guided(4, first, second)))
	if !slices.Equal(a.tokens, []scheduler.Token{35, 35, 35, 35}) {
		t.Errorf("%v, %v", a.tokens, a.end.Err)
	}
}

func TestWorker_Prepare_EmptyMaskEndsTheRequestAlone(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	nothing := &guest{prepare: func() (chain.Prepared, error) { return chain.Prepared{Mask: make([]uint32, 8)}, nil }}
	neighbour := submit(t, s, request(10, 2, 30))
	a := complete(s, submit(t, s, guided(4, nothing)))
	if a.end.Reason != answer.ReasonError {
		t.Errorf("ended as %v", a.end.Reason)
	}
	if n := complete(s, neighbour); n.text != alone(t, request(10, 2, 30)).text {
		t.Error("the neighbour's text has changed")
	}
}

func TestWorker_Prepare_ForcedTokenSkipsTheChain(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	var accepted []scheduler.Token
	force := &guest{
		prepare: func() (chain.Prepared, error) { return chain.Prepared{Forced: []chain.Token{9}}, nil },
		apply:   func(*chain.View) error { return errors.New("apply was called") },
		accept: func(token scheduler.Token) (chain.Effect, error) {
			accepted = append(accepted, token)
			return chain.Effect{Stop: len(accepted) == 3}, nil
		},
	}
	a := complete(s, submit(t, s, guided(10, force)))
	if a.end.Reason != answer.ReasonStop || !slices.Equal(accepted, []scheduler.Token{9, 9, 9}) {
		t.Errorf("%v (%v) after %v", a.end.Reason, a.end.Err, accepted)
	}
}

// TestWorker_Splice_TakesBackWhatWasNotShown: whenever the model writes a token divisible by 7 it
// is replaced, with the one before it. The reader sees only what stays.
func TestWorker_Splice_TakesBackWhatWasNotShown(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	s := newScheduler(t, b, scheduler.Config{})
	var history []scheduler.Token
	other := &guest{rewind: func(h []scheduler.Token, prompt int) error {
		history = append(history[:0], h[prompt:]...)
		return nil
	}, accept: func(token scheduler.Token) (chain.Effect, error) {
		history = append(history, token)
		return chain.Effect{}, nil
	}}
	spliced := 0
	length := 0
	banner := &guest{hold: 3, rewind: func(h []scheduler.Token, prompt int) error { length = len(h) - prompt; return nil },
		accept: func(token scheduler.Token) (chain.Effect, error) {
			length++
			if token%7 != 0 || length < 2 {
				return chain.Effect{}, nil
			}
			spliced++
			length -= 2
			return chain.Effect{Splice: true, Backtrack: 2, Tokens: []scheduler.Token{1, 2, 3}}, nil
		}}
	st := submit(t, s, guided(60, banner, other))
	a := complete(s, st)
	if a.end.Reason != answer.ReasonLength || spliced == 0 {
		t.Fatalf("%v (%v), %d splices", a.end.Reason, a.end.Err, spliced)
	}
	if slices.ContainsFunc(a.events, func(e scheduler.Event) bool { return e.Kind == scheduler.KindRewound }) {
		t.Error("what was shown is taken back")
	}
	if !slices.Equal(a.tokens, history) {
		t.Errorf("the reader saw\n%v, the answer is\n%v", a.tokens, history)
	}
	// Every token that was not forced is what the model says after the history before it.
	for i := 3; i < len(a.tokens); i++ {
		if slices.Equal(a.tokens[i-3:i], []scheduler.Token{1, 2, 3}) && a.tokens[i] != 1 {
			r := request(10, 1, 1)
			r.Prompt = append(r.Prompt, scheduler.Segment{Tokens: a.tokens[:i]})
			if want := alone(t, r); want.tokens[0] != a.tokens[i] && want.tokens[0]%7 != 0 {
				t.Fatalf("token %d is %d, after this history it is %d", i, a.tokens[i], want.tokens[0])
			}
		}
	}
	if got, want := scheduler.Held(s), b.Used(); got != want {
		t.Errorf("the books have %d cells, the cache %d", got, want)
	}
}

func TestWorker_Splice_BadOnesEndTheRequest(t *testing.T) {
	for name, effect := range map[string]chain.Effect{
		"beyond the hold": {Splice: true, Backtrack: 4},
		"negative":        {Splice: true, Backtrack: -1},
		"token":           {Splice: true, Backtrack: 1, Tokens: []scheduler.Token{256}},
		"for ever":        {Splice: true, Backtrack: 1},
	} {
		s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
		n := 0
		g := &guest{hold: 3, accept: func(scheduler.Token) (chain.Effect, error) {
			if n++; n < 6 {
				return chain.Effect{}, nil
			}
			return effect, nil
		}}
		if a := complete(s, submit(t, s, guided(20, g))); a.end.Reason != answer.ReasonError || n > 2*20+300 {
			t.Errorf("%s: %v (%v) after %d calls", name, a.end.Reason, a.end.Err, n)
		}
	}
}

// TestWorker_LateStage_DelaysItselfOnly: its neighbour goes on while it waits, and it goes on
// where it was.
func TestWorker_LateStage_DelaysItselfOnly(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	gate, calls := make(chan struct{}), 0
	slow := &guest{apply: func(v *chain.View) error {
		if calls++; calls == 3 {
			<-gate
		}
		return schedulertest.Sampled{}.Apply(v)
	}}
	late := submit(t, s, guided(8, slow))
	neighbour := submit(t, s, request(10, 2, 50))
	if n := complete(s, neighbour); len(n.tokens) != 50 {
		t.Fatalf("the neighbour got %d tokens", len(n.tokens))
	}
	var a received
	a.read(late)
	if len(a.tokens) > 2 || a.end != nil { // on a busy machine it may have been late before
		t.Errorf("the late request has %d tokens, want 2 at most", len(a.tokens))
	}
	close(gate)
	for a.end == nil {
		s.Tick()
		a.read(late)
	}
	if want := alone(t, request(10, 1, 8)); a.text != want.text {
		t.Errorf("%q, without the wait %q", a.text, want.text)
	}
}

func TestWorker_LateStage_CancelFreesTheSlotAtOnce(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	s := newScheduler(t, b, scheduler.Config{Slots: 1})
	gate := make(chan struct{})
	stuck := submit(t, s, guided(8, &guest{apply: func(*chain.View) error { <-gate; return nil }}))
	for i := 0; i < 3; i++ {
		s.Tick()
	}
	stuck.Cancel()
	next := complete(s, submit(t, s, request(10, 2, 5)))
	var a received
	a.read(stuck)
	if a.end == nil || a.end.Reason != answer.ReasonCancelled || len(next.tokens) != 5 {
		t.Errorf("%+v, the next got %d tokens", a.end, len(next.tokens))
	}
	close(gate)
}

func TestWorker_Open_RefusalEndsTheRequest(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	refusal := errors.New("this configuration makes no sense")
	a := complete(s, submit(t, s, guided(8, &guest{rewind: func([]scheduler.Token, int) error { return refusal }})))
	if !errors.Is(a.end.Err, refusal) || len(a.tokens) != 0 {
		t.Errorf("%v after %d tokens", a.end.Err, len(a.tokens))
	}
}

func TestWorker_Apply_NaNDoesNotReachTheReader(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	nan := &guest{apply: func(v *chain.View) error {
		for i := range v.Row {
			v.Row[i] = float32(math.NaN())
		}
		return nil
	}}
	a := complete(s, submit(t, s, guided(3, nan)))
	if a.end.Reason != answer.ReasonError {
		t.Errorf("ended as %v", a.end.Reason)
	}
}

// What a plugin could still have taken back when the answer is ended from outside, or fails, is
// neither shown nor counted.
func TestWorker_HoldWindow_IsNotCountedWhereItIsNotShown(t *testing.T) {
	for _, how := range []string{"deadline", "cancelled", "fault"} {
		b := schedulertest.New(scheduler.Limits{})
		b.Cost = flat
		s := newScheduler(t, b, scheduler.Config{})
		accepted := 0
		r := guided(100, &guest{hold: 30, accept: func(scheduler.Token) (chain.Effect, error) {
			if accepted++; accepted == 50 && how == "fault" {
				return chain.Effect{}, errors.New("a trap")
			}
			return chain.Effect{}, nil
		}})
		if how == "deadline" {
			r.Deadline = b.Now().Add(50 * flat(1, 0))
		}
		st := submit(t, s, r)
		if how == "cancelled" {
			for range 50 {
				s.Tick()
			}
			st.Cancel()
		}
		a := complete(s, st)
		if a.end.Reason == answer.ReasonLength || a.end.Usage.Generated != len(a.tokens) {
			t.Errorf("%s: %v (%v), %d tokens shown, usage %+v", how, a.end.Reason, a.end.Err, len(a.tokens), a.end.Usage)
		}
	}
}

// The time in which a plugin holds tokens back counts as that of its tokens, although all of them
// are shown at the end.
func TestWorker_HoldWindow_CountsAsTheTokensTime(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	b.Cost = flat
	s := newScheduler(t, b, scheduler.Config{})
	const tokens = 20
	a := complete(s, submit(t, s, guided(tokens, &guest{hold: 30})))
	if took := a.end.Timing.Decode; len(a.tokens) != tokens || took < (tokens-1)*flat(1, 0) {
		t.Errorf("%d tokens took %v; each pass takes %v", len(a.tokens), took, flat(1, 0))
	}
}
