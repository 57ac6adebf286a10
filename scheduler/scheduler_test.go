// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/draft"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/must"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// prompt makes n tokens that differ by seed.
func prompt(n, seed int) []scheduler.Segment {
	tokens := make([]scheduler.Token, n)
	for i := range tokens {
		tokens[i] = scheduler.Token(1 + (i*7+seed*31)%200)
	}
	return []scheduler.Segment{{Tokens: tokens}}
}

func request(n, seed, most int) scheduler.Request {
	return scheduler.Request{Prompt: prompt(n, seed), Ending: scheduler.Ending{MaxTokens: most}, Reports: scheduler.Reports{Logprobs: -1}, Caching: scheduler.Caching{CachePrompt: true},
		Chain: []chain.Stage{schedulertest.Greedy{}}}
}

// newScheduler makes a scheduler on virtual time; the test calls Tick.
func newScheduler(t testing.TB, b simulated, c scheduler.Config) *scheduler.Scheduler {
	t.Helper()
	c.Clock = b.Now
	c.Pieces = b.Table()
	if c.Log == nil {
		c.Log = slog.New(slog.NewTextHandler(complaints{t}, nil))
	}
	return must.Get(scheduler.New(b, c))(t)
}

func submit(t testing.TB, s *scheduler.Scheduler, r scheduler.Request) *scheduler.Stream {
	t.Helper()
	return must.Get(s.Submit(r))(t)
}

// answer is what a reader of a whole stream has seen.
type received struct {
	text   string
	tokens []scheduler.Token
	end    *scheduler.End
	events []scheduler.Event
	missed bool // some events; text and tokens are not whole then
}

func (a *received) read(st *scheduler.Stream) {
	for e, ok := st.TryNext(); ok; e, ok = st.TryNext() {
		a.take(e)
	}
}

func (a *received) take(e scheduler.Event) {
	a.missed = a.missed || e.Seq != uint64(len(a.events))
	a.events = append(a.events, e)
	a.text += e.Text
	switch e.Kind {
	case scheduler.KindToken:
		a.tokens = append(a.tokens, e.Token)
	case scheduler.KindRewound:
		if a.missed {
			return
		}
		if !strings.HasSuffix(a.text, e.Rewound.Text) || e.Rewound.Tokens < 1 || e.Rewound.Tokens > len(a.tokens) {
			panic(fmt.Sprintf("%+v is taken back of %q, %v", *e.Rewound, a.text, a.tokens))
		}
		a.text, a.tokens = strings.TrimSuffix(a.text, e.Rewound.Text), a.tokens[:len(a.tokens)-e.Rewound.Tokens]
	case scheduler.KindEnd:
		a.end = e.End
	}
}

// finish ticks until all streams have ended.
func finish(t testing.TB, s *scheduler.Scheduler, streams ...*scheduler.Stream) []received {
	t.Helper()
	answers := make([]received, len(streams))
	for range 100_000 {
		busy := s.Tick()
		open := 0
		for i, st := range streams {
			n := len(answers[i].events)
			answers[i].read(st)
			busy = busy || len(answers[i].events) > n
			if answers[i].end == nil {
				open++
			}
		}
		if open == 0 {
			return answers
		}
		switch {
		case busy:
		case scheduler.Awaited(s) > 0: // a stage on a goroutine of its own, on a busy machine
			time.Sleep(100 * time.Microsecond)
		default:
			t.Fatalf("%d streams have not ended and there is nothing to compute", open)
		}
	}
	t.Fatal("the streams do not end")
	return nil
}

func alone(t testing.TB, r scheduler.Request) received {
	b := schedulertest.New(scheduler.Limits{})
	s := newScheduler(t, b, scheduler.Config{})
	return finish(t, s, submit(t, s, r))[0]
}

func TestScheduler_OneRequest_RunsToItsLimit(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	s := newScheduler(t, b, scheduler.Config{})
	a := finish(t, s, submit(t, s, request(20, 1, 5)))[0]
	if a.end.Reason != answer.ReasonLength || len(a.tokens) != 5 {
		t.Fatalf("got %d tokens and reason %v", len(a.tokens), a.end.Reason)
	}
	want := scheduler.Usage{Prompt: 20, Generated: 5, Context: 24}
	if d := cmp.Diff(want, a.end.Usage); d != "" {
		t.Error(d)
	}
	for i, e := range a.events {
		if e.Seq != uint64(i) {
			t.Errorf("event %d has sequence number %d", i, e.Seq)
		}
	}
	if k := a.events[0].Kind; k != scheduler.KindStarted {
		t.Errorf("the first event is of kind %v", k)
	}
	if b.Passes != 5 {
		t.Errorf("%d passes for a prompt and 5 tokens, want 5", b.Passes)
	}
}

func TestScheduler_EightAtOnce_OnePassATick(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	s := newScheduler(t, b, scheduler.Config{Slots: 8})
	var streams []*scheduler.Stream
	for i := range 8 {
		streams = append(streams, submit(t, s, request(8, i, 20)))
	}
	answers := finish(t, s, streams...)
	if b.Passes != 20 {
		t.Errorf("%d passes for 8 answers of 20 tokens, want 20", b.Passes)
	}
	for i, a := range answers {
		if want := alone(t, request(8, i, 20)); a.text != want.text {
			t.Errorf("answer %d differs from the one computed alone:\n%s\n%s", i, a.text, want.text)
		}
	}
}

func TestScheduler_Queue_IsBoundedAndInOrder(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	s := newScheduler(t, b, scheduler.Config{Slots: 1, QueueLimit: 2})
	low := submit(t, s, request(10, 1, 3))
	second := submit(t, s, request(10, 2, 3))
	r := request(10, 3, 3)
	r.Priority = 1
	high := submit(t, s, r)
	if _, err := s.Submit(request(10, 4, 3)); !errors.Is(err, scheduler.ErrQueueFull) {
		t.Fatalf("a request too many gives %v", err)
	}
	var order []string
	answers := map[string]*received{"low": {}, "second": {}, "high": {}}
	streams := map[string]*scheduler.Stream{"low": low, "second": second, "high": high}
	for s.Tick() {
		for name, st := range streams {
			if answers[name].read(st); answers[name].end != nil {
				order = append(order, name)
				delete(streams, name)
			}
		}
	}
	if d := cmp.Diff([]string{"high", "low", "second"}, order); d != "" {
		t.Error(d)
	}
}

func TestScheduler_BadRequests_AreRefused(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Cells: 64})
	s := newScheduler(t, b, scheduler.Config{})
	outside := request(4, 1, 1)
	outside.Prompt[0].Tokens[2] = 999
	emptyStop := request(4, 1, 1)
	emptyStop.Stop = []string{""}
	noChain := request(4, 1, 1)
	noChain.Chain = nil
	for name, c := range map[string]struct {
		r    scheduler.Request
		want error
	}{
		"empty":      {request(0, 1, 1), scheduler.ErrEmptyPrompt},
		"long":       {request(64, 1, 1), scheduler.ErrPromptTooLong},
		"token":      {outside, scheduler.ErrBadRequest},
		"empty stop": {emptyStop, scheduler.ErrBadRequest},
		"no chain":   {noChain, scheduler.ErrBadRequest},
	} {
		if _, err := s.Submit(c.r); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestScheduler_StopString_IsNeverShown(t *testing.T) {
	whole := alone(t, request(12, 3, 12)).text
	words := strings.Fields(whole)
	for n, stop := range map[int]string{4: " " + words[4], 6: words[6] + " " + words[7], 8: words[8][1:] + " " + words[9][:1]} {
		r := request(12, 3, 12)
		r.Stop = []string{"no such thing", stop}
		a := alone(t, r)
		want, _, _ := strings.Cut(whole, stop)
		if a.text != want || a.end.Reason != answer.ReasonStop || a.end.Stop != stop {
			t.Errorf("%d: stop %q in %q gives %q (%v, %q)", n, stop, whole, a.text, a.end.Reason, a.end.Stop)
		}
	}
}

func TestScheduler_EndOfGeneration_EndsUnlessIgnored(t *testing.T) {
	for _, ignore := range []bool{false, true} {
		b := schedulertest.New(scheduler.Limits{})
		b.End = 15
		s := newScheduler(t, b, scheduler.Config{})
		r := request(10, 1, 20)
		r.IgnoreEOG = ignore
		a := finish(t, s, submit(t, s, r))[0]
		want := map[bool]answer.Reason{false: answer.ReasonStop, true: answer.ReasonLength}[ignore]
		if a.end.Reason != want {
			t.Errorf("ignore %v: %v after %d tokens", ignore, a.end.Reason, len(a.tokens))
		}
	}
}

func TestScheduler_ContextLimit_EndsAsLength(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Cells: 32})
	s := newScheduler(t, b, scheduler.Config{})
	a := finish(t, s, submit(t, s, request(20, 1, 0)))[0]
	if a.end.Reason != answer.ReasonLength || len(a.tokens) != 12 {
		t.Errorf("%v after %d tokens, want length after 12", a.end.Reason, len(a.tokens))
	}
}

func TestStream_Cancel_FreesTheSlotWithinOneTick(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{Batch: 16})
	s := newScheduler(t, b, scheduler.Config{Slots: 1})
	long := submit(t, s, request(500, 1, 5))
	next := submit(t, s, request(8, 2, 1))
	s.Tick()
	long.Cancel()
	s.Tick()
	var a, n received
	a.read(long)
	n.read(next)
	if a.end == nil || a.end.Reason != answer.ReasonCancelled {
		t.Fatalf("the cancelled request ended with %+v", a.end)
	}
	if n.end == nil {
		t.Error("the next request did not run in the tick after the cancellation")
	}
	long.Cancel() // again: nothing happens
	if s.Tick() {
		t.Error("there is still something to compute")
	}
}

func TestScheduler_FailedPass_EndsOnlyTheGuilty(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	s := newScheduler(t, b, scheduler.Config{Slots: 4})
	broken := errors.New("this one breaks the pass")
	b.Fail = func(batch *scheduler.Batch) error {
		for i, token := range batch.Tokens {
			if batch.Positions[i] == 14 && token == 77 {
				return broken
			}
		}
		return nil
	}
	var streams []*scheduler.Stream
	for i := range 4 {
		r := request(20, i, 6)
		if i == 2 {
			r.Prompt[0].Tokens[14] = 77
		}
		streams = append(streams, submit(t, s, r))
	}
	for i, a := range finish(t, s, streams...) {
		if i == 2 {
			if !errors.Is(a.end.Err, broken) || !errors.Is(a.end.Err, scheduler.ErrPass) {
				t.Errorf("the guilty request ended with %v", a.end.Err)
			}
			continue
		}
		if want := alone(t, request(20, i, 6)); a.text != want.text {
			t.Errorf("request %d: %q (%v), alone %q", i, a.text, a.end.Err, want.text)
		}
	}
}

func TestScheduler_Run_ServesAndDrains(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	s := must.Get(scheduler.New(b, scheduler.Config{}))(t)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	st := submit(t, s, request(10, 1, 1000))
	last := submit(t, s, request(10, 2, 3))
	s.Drain()
	if _, err := s.Submit(request(10, 3, 3)); !errors.Is(err, scheduler.ErrClosed) {
		t.Errorf("after Drain: %v", err)
	}
	n := 0
	for e := range schedulertest.Events(ctx, st) {
		n++
		if e.Kind == scheduler.KindToken && n > 50 {
			st.Cancel()
		}
	}
	for range schedulertest.Events(ctx, last) {
	}
	<-s.Drained()
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := st.Next(context.Background()); !errors.Is(err, io.EOF) {
		t.Errorf("reading past the end gives %v", err)
	}
}

func TestScheduler_Run_EndsWhatIsLeft(t *testing.T) {
	b := schedulertest.New(scheduler.Limits{})
	s, _ := scheduler.New(b, scheduler.Config{Slots: 1})
	ctx, stop := context.WithCancel(context.Background())
	running, waiting := submit(t, s, request(10, 1, 0)), submit(t, s, request(10, 2, 0))
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	must.Get(running.Next(ctx))(t)
	stop()
	<-done
	for i, st := range []*scheduler.Stream{running, waiting} {
		var a received
		a.read(st)
		if a.end == nil || a.end.Reason != answer.ReasonCancelled {
			t.Errorf("stream %d ended with %+v", i, a.end)
		}
	}
	if _, err := s.Submit(request(10, 3, 3)); !errors.Is(err, scheduler.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}

func ExampleScheduler() {
	s, _ := scheduler.New(schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() { _ = s.Run(ctx) }()
	st, _ := s.Submit(scheduler.Request{
		Prompt:  []scheduler.Segment{{Tokens: []scheduler.Token{1, 2, 3}}},
		Ending:  scheduler.Ending{MaxTokens: 2},
		Reports: scheduler.Reports{Logprobs: -1},
		Chain:   []chain.Stage{schedulertest.Greedy{}},
	})
	for e := range schedulertest.Events(ctx, st) {
		if e.Kind == scheduler.KindEnd {
			fmt.Println(e.End.Reason, e.End.Usage.Generated)
		}
	}
	// Output: length 2
}

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

// run starts the schedulers, with these turns, until the test ends. A token takes a millisecond,
// besides what each pass takes.
func (m *twoModels) run(t *testing.T, turns *scheduler.ComputeLock, pass time.Duration) {
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	for i := range m.schedulers {
		b := schedulertest.New(scheduler.Limits{Cells: 1 << 14, Context: 1 << 14, Batch: 2048, Sequences: 8})
		b.Cost = func(tokens, _ int) time.Duration { return pass + time.Duration(tokens)*time.Millisecond }
		s := must.Get(scheduler.New(sleeper{b, &m.computing, &m.together}, scheduler.Config{Slots: 4, ITLTarget: 80 * time.Millisecond, ComputeLock: turns}))(t)
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
			m.run(t, turns, 5*time.Millisecond)
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

// While a model answers, the ticks of both keep to its target together, whatever the other does and
// whenever it begins: a token waits for a tick of either.
func TestTurns_TwoModels_ShareTheTarget(t *testing.T) {
	const target, most = 80 * time.Millisecond, 104 * time.Millisecond
	long := func(t *testing.T, s *scheduler.Scheduler, salt int) {
		for i := range 3 {
			submit(t, s, request(2000, 10*salt+i, 1))
		}
	}
	for name, load := range map[string]func(t *testing.T, one, other *scheduler.Scheduler) (answers []*scheduler.Stream){
		"both answer, the other has prompts": func(t *testing.T, one, other *scheduler.Scheduler) []*scheduler.Stream {
			long(t, other, 5)
			return []*scheduler.Stream{submit(t, one, request(5, 1, 100)), submit(t, other, request(5, 2, 100))}
		},
		"both answer and have prompts": func(t *testing.T, one, other *scheduler.Scheduler) []*scheduler.Stream {
			long(t, one, 5)
			long(t, other, 6)
			return []*scheduler.Stream{submit(t, one, request(5, 1, 100)), submit(t, other, request(5, 2, 100))}
		},
		"both answer, prompts come to one after the other": func(t *testing.T, one, other *scheduler.Scheduler) []*scheduler.Stream {
			answers := []*scheduler.Stream{submit(t, one, request(5, 1, 200)), submit(t, other, request(5, 2, 200))}
			time.Sleep(time.Second)
			long(t, other, 5)
			time.Sleep(time.Second)
			long(t, one, 6)
			return answers
		},
		"an answer begins beside prompts": func(t *testing.T, one, other *scheduler.Scheduler) []*scheduler.Stream {
			long(t, other, 5)
			time.Sleep(time.Second)
			return []*scheduler.Stream{submit(t, one, request(5, 1, 50))}
		},
	} {
		for _, pass := range []time.Duration{5 * time.Millisecond, 30 * time.Millisecond} { // with the second, chunks that pay fill the target
			t.Run(fmt.Sprint(name, ", passes of ", pass), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var m twoModels
					m.run(t, scheduler.NewComputeLock(), pass)
					for i, s := range m.schedulers { // so that they know what passes take
						long(t, s, i)
						longestGap(t, submit(t, s, request(5, 3, 100)))
					}
					time.Sleep(time.Hour)
					var readers sync.WaitGroup
					for i, st := range load(t, m.schedulers[0], m.schedulers[1]) {
						readers.Go(func() {
							if gap := longestGap(t, st); gap > most {
								t.Errorf("a token of model %d waits for %v, the target is %v", i, gap, target)
							}
						})
					}
					readers.Wait()
					time.Sleep(time.Hour) // until all prompts are computed
				})
			})
		}
	}
}

// Where a pass alone takes longer than the target, the prompts of another model go on all the same.
func TestTurns_SlowPasses_PromptsGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m twoModels
		m.run(t, scheduler.NewComputeLock(), 100*time.Millisecond)
		answer := submit(t, m.schedulers[0], request(5, 1, 1000))
		begin := time.Now()
		longestGap(t, submit(t, m.schedulers[1], request(2000, 2, 1)))
		if took := time.Since(begin); took > time.Minute {
			t.Errorf("a prompt of 2,000 tokens takes %v, alone 2.4 s", took)
		}
		longestGap(t, answer)
	})
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

// lingering is a stage that takes an hour to close.
type lingering struct {
	guest
	closed atomic.Bool
}

func (l *lingering) Close() error {
	time.Sleep(time.Hour)
	l.closed.Store(true)
	return nil
}

// What stages belong to is closed after Run has returned, so none may be at work then.
func TestScheduler_Run_ReturnsWhenAllStagesAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := must.Get(scheduler.New(schedulertest.New(scheduler.Limits{}), scheduler.Config{}))(t)
		stage := new(lingering)
		submit(t, s, guided(20, stage))
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		synctest.Wait()
		stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if !stage.closed.Load() {
			t.Error("Run has returned, and a stage is still being closed")
		}
		time.Sleep(2 * time.Hour) // so that the stage is done in any case
	})
}

// A request that ends while its stages are at work is closed on their goroutine, while the tick
// still collects what they did. The race detector looks at what both count.
func TestWorker_EndsWhileLate_IsCountedByOneAtATime(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	release, closed := make(chan struct{}), make(chan struct{})
	st := submit(t, s, guided(20, &closing{guest: guest{apply: func(*chain.View) error { <-release; return nil }}, closed: closed}))
	for scheduler.Awaited(s) == 0 {
		s.Tick()
	}
	st.Cancel()
	s.Tick()
	close(release)
	<-closed
	for scheduler.Awaited(s) > 0 {
		s.Tick()
	}
}

// closing says when it is closed.
type closing struct {
	guest
	closed chan struct{}
}

func (c *closing) Close() error {
	close(c.closed)
	return nil
}
