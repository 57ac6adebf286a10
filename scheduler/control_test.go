// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

// begin starts an answer and ticks until it has n tokens.
func begin(t *testing.T, s *scheduler.Scheduler, r scheduler.Request, n int) (*scheduler.Stream, *received) {
	t.Helper()
	st := submit(t, s, r)
	a := new(received)
	for len(a.tokens) < n && s.Tick() {
		a.read(st)
	}
	return st, a
}

func control(t *testing.T, s *scheduler.Scheduler, f func(context.Context) error) error {
	t.Helper()
	_, err := attempt(t, s, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) })
	return err
}

func TestStream_Pause_StopsUntilResume(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	st, a := begin(t, s, request(10, 1, 30), 5)
	if err := control(t, s, st.Pause); err != nil {
		t.Fatal(err)
	}
	if s.Tick() {
		t.Error("a paused answer was computed")
	}
	if err := control(t, s, st.Resume); err != nil {
		t.Fatal(err)
	}
	for s.Tick() {
		a.read(st)
	}
	if want := alone(t, request(10, 1, 30)); a.text != want.text {
		t.Errorf("%q, without the pause %q", a.text, want.text)
	}
}

func TestStream_Rewind_DrawsAgain(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	st, a := begin(t, s, request(10, 1, 20), 12)
	if err := control(t, s, func(ctx context.Context) error { return st.Rewind(ctx, 5) }); err != nil {
		t.Fatal(err)
	}
	kept := a.tokens[:7]
	a.tokens = append([]scheduler.Token(nil), kept...)
	for s.Tick() {
		a.read(st)
	}
	want := alone(t, request(10, 1, 20))
	if len(a.tokens) != 20 {
		t.Fatalf("%d tokens", len(a.tokens))
	}
	for i := range want.tokens {
		if a.tokens[i] != want.tokens[i] {
			t.Fatalf("token %d differs", i)
		}
	}
	for _, n := range []int{0, -1, 21} {
		err := control(t, s, func(ctx context.Context) error { return st.Rewind(ctx, n) })
		if !errors.Is(err, scheduler.ErrEnded) {
			t.Errorf("rewind of an ended stream: %v", err)
		}
	}
}

func TestStream_Rewind_PastTheStartIsRefused(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	st, a := begin(t, s, request(10, 1, 20), 4)
	for _, n := range []int{0, -1, 5} {
		err := control(t, s, func(ctx context.Context) error { return st.Rewind(ctx, n) })
		if !errors.Is(err, scheduler.ErrBadRequest) {
			t.Errorf("rewind by %d: %v", n, err)
		}
	}
	if err := control(t, s, func(ctx context.Context) error { return st.Rewind(ctx, 4) }); err != nil {
		t.Errorf("rewind to the prompt: %v", err)
	}
	a.tokens = nil
	for s.Tick() {
		a.read(st)
	}
	if want := alone(t, request(10, 1, 20)); len(a.tokens) != 20 || a.tokens[19] != want.tokens[19] {
		t.Errorf("after the rewind: %v", a.tokens)
	}
}

func TestStream_Inject_IsPartOfTheAnswer(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	st, a := begin(t, s, request(10, 1, 20), 4)
	if err := control(t, s, func(ctx context.Context) error { return st.Inject(ctx, []scheduler.Token{5, 6, 7}) }); err != nil {
		t.Fatal(err)
	}
	for s.Tick() {
		a.read(st)
	}
	if len(a.tokens) != 20 || a.tokens[4] != 5 || a.tokens[6] != 7 {
		t.Fatalf("the answer is %v", a.tokens)
	}
	// What follows is what follows such a history.
	r := request(10, 1, 13)
	r.Prompt = append(r.Prompt, scheduler.Segment{Tokens: a.tokens[:7]})
	if want := alone(t, r); a.tokens[19] != want.tokens[12] {
		t.Error("the answer does not go on from the injected tokens")
	}
}

func TestStream_Inject_WaitsForTheReader(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	r := request(10, 1, 60)
	r.Buffer = 16
	st := submit(t, s, r)
	for s.Tick() { // until the buffer is full
	}
	done := make(chan error, 1)
	go func() { done <- st.Inject(t.Context(), []scheduler.Token{5, 6, 7, 8}) }()
	for scheduler.Retries(s) == 0 { // it waits
		scheduler.TakeCommands(s)
	}
	a := new(received)
	for a.end == nil {
		a.read(st)
		s.Tick()
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if len(a.tokens) != 60 {
		t.Errorf("%d tokens", len(a.tokens))
	}
}

func TestStream_Inject_OutsideTheVocabularyIsRefused(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	st, _ := begin(t, s, request(10, 1, 20), 4)
	for _, tokens := range [][]scheduler.Token{{-1}, {256}, make([]scheduler.Token, 5000)} {
		err := control(t, s, func(ctx context.Context) error { return st.Inject(ctx, tokens) })
		if !errors.Is(err, scheduler.ErrBadRequest) {
			t.Errorf("%d tokens: %v", len(tokens), err)
		}
	}
}

// fixed always chooses one token and says when it was closed.
type fixed struct {
	schedulertest.Greedy
	token  scheduler.Token
	closed chan struct{}
}

func (f fixed) Native() bool              { return false }
func (f fixed) Apply(v *chain.View) error { v.Chosen = f.token; return nil }
func (f fixed) Close() error              { close(f.closed); return nil }

func TestStream_SetChain_ReplacesAndCloses(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	old, fresh := fixed{token: 3, closed: make(chan struct{})}, fixed{token: 4, closed: make(chan struct{})}
	r := request(10, 1, 10)
	r.Chain = []chain.Stage{old}
	st, a := reach(t, s, r, 5)
	err := control(t, s, func(ctx context.Context) error {
		return st.SetChain(ctx, []chain.Stage{fresh})
	})
	if err != nil {
		t.Fatal(err)
	}
	<-old.closed
	for a.end == nil {
		s.Tick()
		a.read(st)
	}
	<-fresh.closed
	if a.tokens[4] != 3 || a.tokens[5] != 4 {
		t.Errorf("%v", a.tokens)
	}
	if err := control(t, s, func(ctx context.Context) error { return st.SetChain(ctx, nil) }); !errors.Is(err, scheduler.ErrBadRequest) {
		t.Errorf("an empty chain: %v", err)
	}
}

// Text held for a token that stays is shown, whatever becomes of those after it.
func TestStream_Rewind_ShowsWhatKeptTokensHeld(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	r := request(10, 1, 20)
	r.Stop = []string{" 5 6 7"}
	st, a := begin(t, s, r, 4)
	for _, call := range []func(context.Context) error{
		func(ctx context.Context) error { return st.Inject(ctx, []scheduler.Token{5, 6}) },
		func(ctx context.Context) error { return st.Rewind(ctx, 1) },
	} {
		if err := control(t, s, call); err != nil {
			t.Fatal(err)
		}
	}
	for s.Tick() {
		a.read(st)
	}
	tokens := append(a.tokens[:5:5], a.tokens[6:]...) // without the 6 that was taken back
	want := ""
	for _, token := range tokens {
		want += fmt.Sprintf(" %d", token)
	}
	if tokens[4] != 5 || a.text != want {
		t.Errorf("shown %q, the answer is %q", a.text, want)
	}
}
