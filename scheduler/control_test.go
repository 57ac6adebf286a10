// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	for s.Tick() {
		a.read(st)
	}
	want := alone(t, request(10, 1, 20))
	if len(a.tokens) != 20 || a.text != want.text {
		t.Fatalf("%d tokens, %q, want %q", len(a.tokens), a.text, want.text)
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
	for scheduler.Calling(s) == 0 { // it waits
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
	want := ""
	for _, token := range a.tokens {
		want += fmt.Sprintf(" %d", token)
	}
	if a.tokens[4] != 5 || a.text != want {
		t.Errorf("shown %q, the answer is %q", a.text, want)
	}
}

// What is taken back is an event in its place.
func TestStream_Rewind_TellsWhatIsTakenBack(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	r := request(10, 1, 20)
	r.Stop = []string{" 7 8"}
	st, a := begin(t, s, r, 4)
	before := a.text
	for _, call := range []func(context.Context) error{
		func(ctx context.Context) error { return st.Inject(ctx, []scheduler.Token{5, 6, 7}) }, // the 7 is held back
		func(ctx context.Context) error { return st.Rewind(ctx, 2) },
		st.Pause,
	} {
		if err := control(t, s, call); err != nil {
			t.Fatal(err)
		}
	}
	a.read(st)
	last := a.events[len(a.events)-1]
	if diff := cmp.Diff(&scheduler.Rewound{Tokens: 2, Text: " 6"}, last.Rewound); last.Kind != scheduler.KindRewound || diff != "" {
		t.Errorf("%+v (-want +got):\n%s", last, diff)
	}
	if a.text != before+" 5" || len(a.tokens) != 5 {
		t.Errorf("%q of %v, before %q", a.text, a.tokens, before)
	}
	if err := control(t, s, st.Resume); err != nil {
		t.Fatal(err)
	}
	for a.end == nil {
		a.read(st)
		s.Tick()
	}
	if len(a.tokens) != a.end.Usage.Generated {
		t.Errorf("%d tokens are left, the host counts %d", len(a.tokens), a.end.Usage.Generated)
	}
}
