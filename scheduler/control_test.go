// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/must"
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
	must.Do(t, control(t, s, st.Pause))
	if s.Tick() {
		t.Error("a paused answer was computed")
	}
	must.Do(t, control(t, s, st.Resume))
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
	must.Do(t, control(t, s, func(ctx context.Context) error { return st.Rewind(ctx, 5) }))
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
	must.Do(t, control(t, s, func(ctx context.Context) error { return st.Inject(ctx, []scheduler.Token{5, 6, 7}) }))
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
	must.Do(t, control(t, s, func(ctx context.Context) error {
		return st.SetChain(ctx, []chain.Stage{fresh})
	}))
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
		must.Do(t, control(t, s, call))
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
		must.Do(t, control(t, s, call))
	}
	a.read(st)
	last := a.events[len(a.events)-1]
	if diff := cmp.Diff(&scheduler.Rewound{Tokens: 2, Text: " 6"}, last.Rewound); last.Kind != scheduler.KindRewound || diff != "" {
		t.Errorf("%+v (-want +got):\n%s", last, diff)
	}
	if a.text != before+" 5" || len(a.tokens) != 5 {
		t.Errorf("%q of %v, before %q", a.text, a.tokens, before)
	}
	must.Do(t, control(t, s, st.Resume))
	for a.end == nil {
		a.read(st)
		s.Tick()
	}
	if len(a.tokens) != a.end.Usage.Generated {
		t.Errorf("%d tokens are left, the host counts %d", len(a.tokens), a.end.Usage.Generated)
	}
}

// slowness makes a guest wait in a control call, once it is armed.
type slowness struct {
	armed         bool
	entered, gate chan struct{}
}

func (s *slowness) wait() {
	if s.armed {
		s.armed = false
		close(s.entered)
		<-s.gate
	}
}

// slow is a guest that takes its time in accept and rewind.
func (s *slowness) guest() *guest {
	return &guest{
		accept: func(scheduler.Token) (chain.Effect, error) { s.wait(); return chain.Effect{}, nil },
		rewind: func([]scheduler.Token, int) error { s.wait(); return nil },
	}
}

// reach starts an answer with guests, which may be late, and ticks until it has n tokens.
func reach(t *testing.T, s *scheduler.Scheduler, r scheduler.Request, n int) (*scheduler.Stream, *received) {
	t.Helper()
	st := submit(t, s, r)
	a := new(received)
	for len(a.tokens) < n && a.end == nil {
		s.Tick()
		a.read(st)
	}
	return st, a
}

// ask makes a control call on a goroutine and takes commands until the guest is at it.
func (s *slowness) ask(t *testing.T, h *scheduler.Scheduler, f func(context.Context) error) <-chan error {
	t.Helper()
	s.armed, s.entered, s.gate = true, make(chan struct{}), make(chan struct{})
	result := make(chan error, 1)
	go func() { result <- f(t.Context()) }()
	for {
		select {
		case <-s.entered:
			return result
		default:
			scheduler.TakeCommands(h) // what would run the guest here would never return
		}
	}
}

// The guest's work for a control call is done beside the tick: its neighbour's whole answer is
// computed meanwhile.
func TestStream_Control_SlowGuestHoldsUpNobody(t *testing.T) {
	for name, tc := range map[string]struct {
		call func(*scheduler.Stream, context.Context) error
		want int // tokens in all
	}{
		"inject": {func(st *scheduler.Stream, ctx context.Context) error { return st.Inject(ctx, []scheduler.Token{5, 6}) }, 20},
		"rewind": {func(st *scheduler.Stream, ctx context.Context) error { return st.Rewind(ctx, 2) }, 20},
	} {
		s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
		var slow slowness
		st, a := reach(t, s, guided(20, slow.guest()), 5)
		called := slow.ask(t, s, func(ctx context.Context) error { return tc.call(st, ctx) })
		if n := complete(s, submit(t, s, request(10, 2, 30))); len(n.tokens) != 30 {
			t.Errorf("%s: the neighbour has %d tokens (%v)", name, len(n.tokens), n.end.Err)
		}
		if a.read(st); len(a.tokens) > 6 {
			t.Errorf("%s: the answer went on to %d tokens", name, len(a.tokens))
		}
		close(slow.gate)
		for a.end == nil {
			s.Tick()
			a.read(st)
		}
		if err := <-called; err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(a.tokens) != tc.want || a.end.Reason != answer.ReasonLength {
			t.Errorf("%s: %d tokens, %v (%v)", name, len(a.tokens), a.end.Reason, a.end.Err)
		}
	}
}

// Calls that come while one is at work wait for it, one by one and in order.
func TestStream_Control_OneAtATime(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	var slow slowness
	st, a := reach(t, s, guided(20, slow.guest()), 5)
	first := slow.ask(t, s, func(ctx context.Context) error { return st.Inject(ctx, []scheduler.Token{5}) })
	second := make(chan error, 1)
	go func() { second <- st.Inject(t.Context(), []scheduler.Token{6}) }()
	for scheduler.Calling(s) == 0 {
		scheduler.TakeCommands(s)
	}
	close(slow.gate)
	for a.end == nil {
		s.Tick()
		a.read(st)
	}
	if err := errors.Join(<-first, <-second); err != nil {
		t.Error(err)
	}
	at := -1
	for i, token := range a.tokens {
		if token == 5 && i+1 < len(a.tokens) && a.tokens[i+1] == 6 {
			at = i
		}
	}
	if at < 0 || len(a.tokens) != 20 {
		t.Errorf("the answer is %v", a.tokens)
	}
}

func TestStream_Control_EndsWithTheAnswer(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{Slots: 1})
	var slow slowness
	st, a := reach(t, s, guided(20, slow.guest()), 5)
	called := slow.ask(t, s, func(ctx context.Context) error { return st.Rewind(ctx, 1) })
	st.Cancel()
	if n := complete(s, submit(t, s, request(10, 2, 5))); len(n.tokens) != 5 {
		t.Errorf("the slot was not free: %d tokens", len(n.tokens))
	}
	if err := <-called; !errors.Is(err, scheduler.ErrEnded) {
		t.Errorf("got %v", err)
	}
	if a.read(st); a.end == nil || a.end.Reason != answer.ReasonCancelled {
		t.Errorf("got %+v", a.end)
	}
	close(slow.gate)
}

// An error of the guest is the call's, and ends its answer alone.
func TestStream_Rewind_GuestFails(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	broken := errors.New("broken")
	var fail error
	st, a := reach(t, s, guided(20, &guest{rewind: func([]scheduler.Token, int) error { return fail }}), 5)
	fail = broken
	if err := control(t, s, func(ctx context.Context) error { return st.Rewind(ctx, 1) }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if a.read(st); a.end == nil || !errors.Is(a.end.Err, broken) {
		t.Errorf("got %+v", a.end)
	}
}

// What was prepared before the answer changed is not used after it.
func TestStream_Rewind_PreparesAnew(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	length := 0
	g := &guest{
		prepare: func() (chain.Prepared, error) {
			return chain.Prepared{Forced: []chain.Token{scheduler.Token(length)}}, nil
		},
		accept: func(scheduler.Token) (chain.Effect, error) { length++; return chain.Effect{}, nil },
		rewind: func(h []scheduler.Token, _ int) error { length = len(h); return nil },
	}
	st, a := reach(t, s, guided(12, g), 5)
	must.Do(t, control(t, s, func(ctx context.Context) error { return st.Rewind(ctx, 3) }))
	for a.end == nil {
		s.Tick()
		a.read(st)
	}
	for i, token := range a.tokens {
		if token != scheduler.Token(10+i) {
			t.Fatalf("after the rewind: %v", a.tokens)
		}
	}
}

// Plugins cannot be taken out of an answer, not even before it has begun, nor be put into one.
func TestStream_SetChain_PluginsStay(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{Slots: 1})
	running := submit(t, s, request(10, 1, 40))
	s.Tick()
	queued := submit(t, s, guided(5, &guest{}))
	scheduler.TakeCommands(s)
	for _, tc := range []struct {
		st    *scheduler.Stream
		chain chain.Stage
	}{{queued, schedulertest.Greedy{}}, {queued, &guest{}}, {running, &guest{}}} {
		err := control(t, s, func(ctx context.Context) error { return tc.st.SetChain(ctx, []chain.Stage{tc.chain}) })
		if !errors.Is(err, scheduler.ErrBadRequest) {
			t.Errorf("%T: %v", tc.chain, err)
		}
	}
	finish(t, s, running, queued)
}

// The others of its stages can be exchanged around a plugin, which knows nothing of it.
func TestStream_SetChain_AroundAPlugin(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	begun := 0
	g := &guest{rewind: func([]scheduler.Token, int) error { begun++; return nil }}
	fresh := fixed{token: 4, closed: make(chan struct{})}
	st, a := reach(t, s, guided(12, g), 5)
	must.Do(t, control(t, s, func(ctx context.Context) error {
		return st.SetChain(ctx, []chain.Stage{chain.Keep("stage", nil), fresh})
	}))
	for a.end == nil {
		s.Tick()
		a.read(st)
	}
	<-fresh.closed
	if begun != 1 || len(a.tokens) != 12 || slices.ContainsFunc(a.tokens[6:], func(token scheduler.Token) bool { return token != 4 }) {
		t.Errorf("begun %d times; %v", begun, a.tokens)
	}
}

// turning is a native stage until it has seen some tokens.
type turning struct {
	schedulertest.Greedy
	native *int // tokens for which it is
	seen   []scheduler.Token
	resets *int
}

func (s *turning) Native() bool { return len(s.seen) < *s.native }

func (s *turning) Accept(t scheduler.Token) (chain.Effect, error) {
	s.seen = append(s.seen, t)
	return chain.Effect{}, nil
}

func (s *turning) Reset(history []scheduler.Token, prompt int) error {
	*s.resets++
	s.seen = append(s.seen[:0], history[prompt:]...)
	return nil
}

// A native stage that turns out to be slow goes on in a background sampler, with the same tokens,
// and is not begun twice.
func TestScheduler_Sample_StageTurnsSlow(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	answer := func(native int) (tokens []scheduler.Token, resets int) {
		r := request(10, 1, 30)
		r.IgnoreEOG = true
		r.Chain = []chain.Stage{&turning{native: &native, resets: &resets}}
		a := complete(s, submit(t, s, r))
		if a.end.Err != nil {
			t.Fatal(a.end.Err)
		}
		return a.tokens, resets
	}
	want, _ := answer(1000)
	for _, native := range []int{0, 1, 13, 29} {
		if got, resets := answer(native); !slices.Equal(got, want) || resets != 1 {
			t.Errorf("native for %d tokens: %v after %d resets, want %v after 1", native, got, resets, want)
		}
	}
}

// guarding is a stage with a grammar.
type guarding struct{ *turning }

func (guarding) Traits() chain.Traits                       { return chain.Traits{Guards: true} }
func (guarding) Fits(tokens []scheduler.Token) (int, error) { return len(tokens), nil }

// A grammar that a client sets for a running answer reads all of it, so a background sampler does
// that; another chain may follow.
func TestStream_SetChain_GrammarInAWorker(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	running := submit(t, s, request(10, 1, 40))
	for range 10 {
		s.Tick()
	}
	native, resets := 1000, 0
	for _, stage := range []chain.Stage{guarding{&turning{native: &native, resets: &resets}}, schedulertest.Greedy{}} {
		if err := control(t, s, func(ctx context.Context) error { return running.SetChain(ctx, []chain.Stage{stage}) }); err != nil {
			t.Errorf("%T: %v", stage, err)
		}
	}
	if resets != 1 {
		t.Errorf("%d resets, want 1", resets)
	}
	finish(t, s, running)
}

// heavy is a native stage whose grammar takes its time.
type heavy struct {
	guarding
	*slowness
}

func newHeavy(s *slowness) heavy {
	native, resets := 1000, 0
	return heavy{guarding{&turning{native: &native, resets: &resets}}, s}
}

func (h heavy) Accept(t scheduler.Token) (chain.Effect, error) {
	h.wait()
	return h.guarding.Accept(t)
}

func (h heavy) Reset(history []scheduler.Token, prompt int) error {
	h.wait()
	return h.guarding.Reset(history, prompt)
}

// A grammar reads the tokens of a control call, and those with which a fork begins, beside the
// tick, though it draws in it.
func TestStream_Control_SlowGrammarHoldsUpNobody(t *testing.T) {
	for name, call := range map[string]func(*scheduler.Stream, context.Context) error{
		"inject": func(st *scheduler.Stream, ctx context.Context) error { return st.Inject(ctx, []scheduler.Token{5, 6}) },
		"rewind": func(st *scheduler.Stream, ctx context.Context) error { return st.Rewind(ctx, 2) },
	} {
		s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
		var slow slowness
		r := request(10, 1, 20)
		r.Chain = []chain.Stage{newHeavy(&slow)}
		st, a := reach(t, s, r, 5)
		called := slow.ask(t, s, func(ctx context.Context) error { return call(st, ctx) })
		slow.neighbour(t, s, name)
		for a.end == nil {
			s.Tick()
			a.read(st)
		}
		if err := <-called; err != nil || a.end.Usage.Generated != 20 {
			t.Errorf("%s: %v, %+v", name, err, a.end)
		}
	}
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	var slow slowness
	r := request(10, 1, 20)
	r.Chain, r.Begun.Tokens = []chain.Stage{newHeavy(&slow)}, []scheduler.Token{5, 6, 7}
	fork := submit(t, s, r)
	slow.armed, slow.entered, slow.gate = true, make(chan struct{}), make(chan struct{})
	s.Tick() // its stage is begun
	slow.neighbour(t, s, "fork")
	if a := finish(t, s, fork)[0]; a.end.Usage.Generated != 20 {
		t.Errorf("fork: %+v", a.end)
	}
}

// neighbour has another answer computed while a guest waits, which may then go on.
func (s *slowness) neighbour(t *testing.T, h *scheduler.Scheduler, name string) {
	t.Helper()
	if n := complete(h, submit(t, h, request(10, 2, 30))); len(n.tokens) != 30 {
		t.Errorf("%s: the neighbour has %d tokens (%v)", name, len(n.tokens), n.end.Err)
	}
	close(s.gate)
}
