// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/estimator"
	"github.com/penstock/penstock/scheduler/panics"
	"github.com/penstock/penstock/scheduler/program"
	"github.com/penstock/penstock/scheduler/schedulertest"
	"github.com/penstock/penstock/tools/must"
	"github.com/penstock/penstock/tools/steadytest"
)

// faulty is a backend whose Go side panics where the test says so.
type faulty struct {
	*schedulertest.Backend
	pass     func(*scheduler.Batch)
	sample   func([]scheduler.Draw)
	truncate func(seq int32, n int)
	piece    func(scheduler.Token)
}

func (f *faulty) Start(b *scheduler.Batch) error {
	if f.pass != nil {
		f.pass(b)
	}
	return f.Backend.Start(b)
}

func (f *faulty) SampleRows(draws []scheduler.Draw) {
	if f.sample != nil {
		f.sample(draws)
	}
	f.Backend.SampleRows(draws)
}

func (f *faulty) Truncate(seq int32, n int) int {
	if f.truncate != nil {
		f.truncate(seq, n)
	}
	return f.Backend.Truncate(seq, n)
}

func (f *faulty) Piece(t scheduler.Token) string {
	if f.piece != nil {
		f.piece(t)
	}
	return f.Backend.Piece(t)
}

func newFaulty(t *testing.T, c scheduler.Config) (*faulty, *scheduler.Scheduler) {
	t.Helper()
	f := &faulty{Backend: schedulertest.New(scheduler.Limits{})}
	c.Clock, c.Log = f.Now, slog.New(slog.DiscardHandler)
	s := must.Get(scheduler.New(f, c))(t)
	return f, s
}

// survives checks that an answer ended by a panic, that its neighbour has the text it has alone,
// and that the next one finds everything in order.
func survives(t *testing.T, s *scheduler.Scheduler, b *schedulertest.Backend, guilty *received, neighbour *scheduler.Stream) {
	t.Helper()
	var p *panics.Error
	if guilty.end == nil || guilty.end.Reason != answer.ReasonError || !errors.As(guilty.end.Err, &p) {
		t.Errorf("ended as %+v, want an error by a panic", guilty.end)
	}
	for i, st := range []*scheduler.Stream{neighbour, submit(t, s, request(10, 2, 30))} {
		if n, want := complete(s, st), alone(t, request(10, 2, 30)); n.text != want.text {
			t.Errorf("request %d beside or after it: %q (%v), alone %q", i, n.text, n.end.Err, want.text)
		}
	}
	if got, want := scheduler.Held(s), b.Used(); got != want {
		t.Errorf("the books have %d cells, the cache %d", got, want)
	}
}

// third panics at its third call.
func third() func() {
	n := 0
	return func() {
		if n++; n == 3 {
			panic("third time")
		}
	}
}

func TestPanic_OfAStage_EndsItsRequestAlone(t *testing.T) {
	for name, arm := range map[string]func(g *guest, boom func()){
		"prepare": func(g *guest, boom func()) {
			g.prepare = func() (chain.Prepared, error) { boom(); return chain.Prepared{}, nil }
		},
		"apply": func(g *guest, boom func()) { g.apply = func(*chain.View) error { boom(); return nil } },
		"accept": func(g *guest, boom func()) {
			g.accept = func(scheduler.Token) (e chain.Effect, _ error) { boom(); return }
		},
		"rewind": func(g *guest, _ func()) { g.rewind = func([]scheduler.Token, int) error { panic("at once") } },
	} {
		t.Run(name, func(t *testing.T) {
			f, s := newFaulty(t, scheduler.Config{})
			g := &guest{}
			arm(g, third())
			neighbour := submit(t, s, request(10, 2, 30))
			a := complete(s, submit(t, s, guided(20, g)))
			survives(t, s, f.Backend, a, neighbour)
		})
	}
}

// boomRule panics at its third token, boomStage when it is told of its third, or closed.
type boomRule struct{ boom func() }

func (r boomRule) Check(scheduler.Token, string) (v answer.Verdict, _ error) { r.boom(); return }
func (boomRule) Close() error                                                { panic("closed") }

type boomStage struct {
	schedulertest.Greedy
	boom func()
}

func (b boomStage) Accept(scheduler.Token) (e chain.Effect, _ error) { b.boom(); return }
func (boomStage) Close() error                                       { panic("closed") }

func TestPanic_OfARuleOrANativeStage_EndsItsRequestAlone(t *testing.T) {
	ruled, native := request(10, 1, 20), request(10, 1, 20)
	ruled.Rules = []answer.StopRule{boomRule{third()}}
	native.Chain = []chain.Stage{boomStage{boom: third()}}
	for name, r := range map[string]scheduler.Request{"rule": ruled, "native stage": native} {
		t.Run(name, func(t *testing.T) {
			f, s := newFaulty(t, scheduler.Config{})
			neighbour := submit(t, s, request(10, 2, 30))
			a := complete(s, submit(t, s, r))
			if survives(t, s, f.Backend, a, neighbour); len(a.tokens) > 3 {
				t.Errorf("%d tokens", len(a.tokens))
			}
		})
	}
}

func TestPanic_OfAControlCall_IsItsErrorAndEndsTheAnswer(t *testing.T) {
	native, guest := request(10, 1, 20), guided(20, &guest{accept: func() func(scheduler.Token) (chain.Effect, error) {
		return func(token scheduler.Token) (e chain.Effect, _ error) {
			if token == 5 {
				panic("five")
			}
			return
		}
	}()})
	native.Chain = []chain.Stage{fiveStage{}}
	for name, r := range map[string]scheduler.Request{"native": native, "guest": guest} {
		t.Run(name, func(t *testing.T) {
			f, s := newFaulty(t, scheduler.Config{})
			st, a := reach(t, s, r, 4)
			neighbour := submit(t, s, request(10, 2, 30))
			err := control(t, s, func(ctx context.Context) error { return st.Inject(ctx, []scheduler.Token{5}) })
			if p := new(panics.Error); !errors.As(err, &p) {
				t.Errorf("the call gives %v", err)
			}
			for a.end == nil {
				s.Tick()
				a.read(st)
			}
			survives(t, s, f.Backend, a, neighbour)
		})
	}
}

type fiveStage struct{ schedulertest.Greedy }

func (fiveStage) Accept(t scheduler.Token) (e chain.Effect, _ error) {
	if t == 5 {
		panic("five")
	}
	return
}

// A pass that panics is run again in halves, as one that fails.
func TestPanic_OfTheBackend_EndsTheGuiltyRequestAlone(t *testing.T) {
	for name, arm := range map[string]func(*faulty){
		"pass": func(f *faulty) {
			f.pass = func(b *scheduler.Batch) {
				if slices.Contains(b.Positions, 205) {
					panic("position 205")
				}
			}
		},
		"piece": func(f *faulty) {
			boom := third()
			f.piece = func(token scheduler.Token) {
				if token == schedulertest.EndToken+255 {
					boom()
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, s := newFaulty(t, scheduler.Config{})
			arm(f)
			neighbour := submit(t, s, request(10, 2, 30))
			r := request(200, 1, 20)
			if name == "piece" {
				r = guided(20, &guest{prepare: func() (chain.Prepared, error) { return chain.Prepared{Forced: []chain.Token{255}}, nil }})
			}
			survives(t, s, f.Backend, complete(s, submit(t, s, r)), neighbour)
		})
	}
}

func TestPanic_OfTruncate_EndsTheGuiltyRequestAlone(t *testing.T) {
	f, s := newFaulty(t, scheduler.Config{})
	st, a := begin(t, s, request(10, 1, 20), 8)
	neighbour := submit(t, s, request(10, 2, 30))
	armed := true
	f.truncate = func(int32, int) {
		if armed {
			armed = false
			panic("no such cell")
		}
	}
	_ = control(t, s, func(ctx context.Context) error { return st.Rewind(ctx, 5) })
	for a.end == nil {
		s.Tick()
		a.read(st)
	}
	if armed {
		t.Fatal("nothing was truncated")
	}
	survives(t, s, f.Backend, a, neighbour)
}

// panicStrategy panics once.
type panicStrategy struct{ armed *bool }

func (p panicStrategy) Chunk(d *estimator.Demand) int {
	if *p.armed {
		*p.armed = false
		panic("no strategy")
	}
	return estimator.DecodeMaximal{}.Chunk(d)
}

// Nobody can be blamed: the requests of that pass end, later ones go on.
func TestPanic_OfNobody_EndsThePass(t *testing.T) {
	armed := false
	f, s := newFaulty(t, scheduler.Config{Strategy: panicStrategy{&armed}})
	first, a := begin(t, s, request(10, 1, 20), 4)
	armed = true
	second := complete(s, submit(t, s, request(100, 3, 20)))
	for a.end == nil {
		s.Tick()
		a.read(first)
	}
	for _, got := range []*received{a, second} {
		survives(t, s, f.Backend, got, submit(t, s, request(10, 2, 30)))
	}
}

// A listener that panics ends nothing, and is told no more.
func TestPanic_OfAListener_EndsNothing(t *testing.T) {
	for name, broken := range map[string]func(told func()) scheduler.Listener{
		"tick": func(told func()) scheduler.Listener {
			return scheduler.Listener{Tick: func(scheduler.TickRecord) { told() }}
		},
		"first": func(told func()) scheduler.Listener { return scheduler.Listener{First: func(time.Duration) { told() }} },
		"token": func(told func()) scheduler.Listener { return scheduler.Listener{Token: func(time.Duration) { told() }} },
		"ended": func(told func()) scheduler.Listener {
			return scheduler.Listener{Ended: func(scheduler.RequestRecord) { told() }}
		},
	} {
		f := schedulertest.New(scheduler.Limits{})
		s := must.Get(scheduler.New(f, scheduler.Config{Clock: f.Now, Log: slog.New(slog.DiscardHandler), QueueLimit: 1, Slots: 1}))(t)
		told, others := 0, 0
		s.Listen(broken(func() { told++; panic(name) }))
		s.Listen(broken(func() { others++ }))
		for range 5 { // more than the queue would take if one were never counted out
			if a := complete(s, submit(t, s, request(10, 1, 5))); a.end.Reason != answer.ReasonLength {
				t.Errorf("%s: ended as %v: %v", name, a.end.Reason, a.end.Err)
			}
		}
		if told != 1 || others < 5 {
			t.Errorf("%s: it was told %d times, want once, and another %d times, want 5 or more", name, told, others)
		}
	}
}

// fragileClock panics once, at the reading that left counts down to. At 0 it is as good as any.
type fragileClock struct{ left atomic.Int32 }

func (c *fragileClock) now() time.Time {
	if c.left.Load() > 0 && c.left.Add(-1) == 0 {
		panic("a broken clock")
	}
	return time.Now()
}

// After a panic before the plan, what waits in the queue is looked at at once, and not when the
// next command comes.
func TestScheduler_Panic_BeforeThePlan_TheQueueGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := schedulertest.NewMachine(schedulertest.New(scheduler.Limits{}), 2)
		b.Cost = func(int, int) time.Duration { return time.Second }
		clock := new(fragileClock)
		s := must.Get(scheduler.New(b, scheduler.Config{Slots: 1, Log: slog.New(slog.DiscardHandler), Clock: clock.now}))(t)
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		stage := &guest{accept: func(token scheduler.Token) (chain.Effect, error) {
			if token == foreign[0] {
				time.Sleep(time.Minute) // so that the tick sleeps meanwhile, and has used up all that woke it
				clock.left.Store(2)     // that tick reads it first for the token, and then for itself
			}
			return chain.Effect{}, nil
		}}
		st, waiting := submit(t, s, guided(50, stage)), submit(t, s, request(20, 2, 5))
		for range 3 {
			must.Get(st.Next(ctx))(t)
		}
		_ = st.Inject(ctx, foreign[:1]) // its answer ends with the panic
		if tokens := tokensOf(ctx, waiting); tokens != 5 {
			t.Errorf("the answer that waited has %d tokens", tokens)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// bomb is a stage, and the grammar of a branch, with all methods that there are, one of which
// panics at one of its calls.
type bomb struct {
	schedulertest.Sampled
	native bool
	at     string // the method
	left   *atomic.Int32
}

func (b *bomb) call(method string) {
	if method == b.at && b.left.Add(-1) == 0 {
		panic(method)
	}
}

// bombMethods are those of a bomb that a scheduler calls, on the tick or elsewhere.
var bombMethods = []string{"native", "apply", "accept", "reset", "close", "prepare", "foresee", "outputs", "interrupt", "logprob", "state", "mask", "after", "ended"}

func (b *bomb) Traits() chain.Traits {
	t := chain.Traits{Foresees: true, Logprob: func(float32) { b.call("logprob") }, HiddenState: func([]float32) { b.call("state") }}
	if !b.native {
		t.Prepares, t.Lasts = true, true
		t.Outputs = func() []chain.Output { b.call("outputs"); return nil }
		t.Interrupt = func() { b.call("interrupt") }
	}
	return t
}

func (b *bomb) Native() bool { b.call("native"); return b.native }

func (b *bomb) Apply(v *chain.View) error { b.call("apply"); return b.Sampled.Apply(v) }

func (b *bomb) Accept(scheduler.Token) (e chain.Effect, _ error) { b.call("accept"); return }

func (b *bomb) Reset([]scheduler.Token, int) error { b.call("reset"); return nil }

func (b *bomb) Close() error { b.call("close"); return nil }

func (b *bomb) Prepare() (p chain.Prepared, _ error) { b.call("prepare"); return }

func (b *bomb) Foresee(int) []scheduler.Token { b.call("foresee"); return nil }

func (b *bomb) Mask(mask []uint32) error {
	b.call("mask")
	for i := range mask {
		mask[i] = ^uint32(0)
	}
	return nil
}

func (b *bomb) After(scheduler.Token) (program.GrammarState, bool) { b.call("after"); return b, true }

// bombed are requests that call all of that: answers, and programs whose branches write.
func bombed(b *bomb) map[string]scheduler.Request {
	plain := request(20, 1, 8)
	plain.Chain = []chain.Stage{b}
	runs := written(20, 1, 3, func(r *program.Run) error {
		c := program.NewChain(func(uint64, int) ([]chain.Stage, error) { return []chain.Stage{b}, nil })
		all := []*program.Branch{mustOpen(r, r.Prompt()), mustOpen(r, own(20, 5)), mustOpen(r, own(20, 6))}
		var errs error
		for i, of := range all {
			if i > 0 {
				errs = errors.Join(errs, of.Follow(b))
			}
			errs = errors.Join(errs, of.Run(c, 3, false))
		}
		_, err := r.Wait(1, false, all...)
		errs = errors.Join(errs, err)
		for range 2 {
			_, err := r.Wait(1, false, all...)
			errs = errors.Join(errs, err)
			for _, of := range all {
				t, err := of.Sample(c)
				errs = errors.Join(errs, err, of.Append([]program.Token{t}, false))
			}
		}
		return errors.Join(errs, showTokens(r, []program.Token{1}))
	})
	runs.Chain = []chain.Stage{b}
	for _, r := range []*scheduler.Request{&plain, &runs} {
		r.Ended = func(scheduler.RequestRecord) { b.call("ended") }
	}
	return map[string]scheduler.Request{"answer": plain, "program": runs}
}

// Wherever the code that a request brings along panics, on the tick, on a background sampler or on
// a program's goroutine, it is this request that ends: others' answers go on as if it were not
// there, what it had is free, and the scheduler goes on.
func TestPanic_OfARequestsOwnCode_IsItsOwn(t *testing.T) {
	l := scheduler.Limits{Vocabulary: 1 << 14, HiddenState: 2, Drafts: true} // so many that rows are read on all processors
	calls := steadytest.Some(t, []int32{1, 2, 3, 4, 5, 6, 7, 8, 9}, 3)
	for _, native := range []bool{true, false} {
		for _, method := range bombMethods {
			t.Run(fmt.Sprintf("%s, native %v", method, native), func(t *testing.T) {
				for _, nth := range calls {
					bombNth(t, l, native, method, nth)
				}
			})
		}
	}
}

func bombNth(t *testing.T, l scheduler.Limits, native bool, method string, nth int32) {
	for kind := range bombed(&bomb{}) {
		inBubble(t, l, scheduler.Config{Slots: 5, Log: discard}, func(b bubble) {
			stage := &bomb{native: native, at: method, left: new(atomic.Int32)}
			stage.left.Store(nth)
			before := submit(t, b.Scheduler, request(10, 2, 12))
			guilty := b.read(submit(t, b.Scheduler, bombed(stage)[kind]))
			after := submit(t, b.Scheduler, request(10, 3, 12))
			for i, st := range []*scheduler.Stream{before, after} {
				if a := b.read(st); a.text != b.goesOn(10, 2+i, 12) {
					t.Errorf("%s, call %d: beside it (%v) a request has %q (%v)", kind, nth, guilty.end.Err, a.text, a.end.Err)
				}
			}
			_ = scheduler.Do(b.Context(), b.Scheduler, func() {
				if got, want := scheduler.Held(b.Scheduler), b.host.Used(); got != want {
					t.Errorf("%s, call %d: the books have %d cells, the cache %d", kind, nth, got, want)
				}
			})
		})
	}
}

// goesOn is the text of an answer to a prompt.
func (b bubble) goesOn(n, seed, most int) (text string) {
	for _, t := range b.host.GoesOn(prompt(n, seed)[0].Tokens, most) {
		text += b.host.Piece(t)
	}
	return text
}

// The backend is lost in the middle of two answers: they end with the reason, and those that wait
// are answered once it is back, as if nothing had been.
func TestScheduler_Lost(t *testing.T) {
	for _, how := range []string{"in a pass", "between passes"} {
		t.Run(how, func(t *testing.T) {
			b := schedulertest.New(scheduler.Limits{})
			s := newScheduler(t, b, scheduler.Config{Slots: 2, ArchiveBytes: 1 << 20})
			running := []*scheduler.Stream{submit(t, s, request(10, 1, 30)), submit(t, s, request(10, 2, 30))}
			waiting := []*scheduler.Stream{submit(t, s, request(10, 3, 30)), submit(t, s, request(10, 4, 30))}
			for range 5 {
				s.Tick()
			}
			reason := fmt.Errorf("%w: the worker is gone", scheduler.ErrLost)
			b.Fail = func(*scheduler.Batch) error { return reason }
			if how == "between passes" {
				done := make(chan struct{})
				go func() { s.Lose(reason); s.Lose(reason); close(done) }()
				for working := true; working; {
					scheduler.TakeCommands(s)
					select {
					case <-done:
						working = false
					default:
					}
				}
			}
			s.Tick()
			for i, a := range finish(t, s, running...) {
				if a.end.Reason != answer.ReasonError || !errors.Is(a.end.Err, scheduler.ErrLost) {
					t.Errorf("the running answer %d ended with %v, %v", i, a.end.Reason, a.end.Err)
				}
			}
			passes := b.Passes
			if s.Tick() || b.Passes != passes {
				t.Error("it goes on computing")
			}
			for seq := range int32(b.Limits().Sequences) { // what is back is empty
				b.Truncate(seq, 0)
			}
			b.Fail = nil
			s.Revive()
			for i, a := range finish(t, s, waiting...) {
				if want := alone(t, request(10, 3+i, 30)); a.text != want.text {
					t.Errorf("the waiting answer %d is %q (%v), alone %q", i, a.text, a.end.Err, want.text)
				}
			}
		})
	}
}

// losable is a backend that can say that it was lost.
type losable struct {
	*schedulertest.Backend
	lost error
}

func (b *losable) Lost() error { return b.lost }

// A copy that was made of a lost memory is not handed out, though no pass has failed yet.
func TestScheduler_Lost_SavedSlot(t *testing.T) {
	b := &losable{Backend: schedulertest.New(scheduler.Limits{})}
	s := newScheduler(t, b, scheduler.Config{ArchiveBytes: 1 << 20})
	finish(t, s, submit(t, s, request(10, 1, 5)))
	b.lost = scheduler.ErrLost
	result := make(chan error, 1)
	go func() {
		_, err := s.SaveSlot(t.Context(), 0, "")
		result <- err
	}()
	for {
		s.Tick()
		select {
		case err := <-result:
			if !errors.Is(err, scheduler.ErrLost) {
				t.Errorf("%v, want ErrLost", err)
			}
			return
		default:
		}
	}
}

// What is asked of a slot meanwhile waits, but not for ever: a client that gives up gets its
// answer.
func TestScheduler_Lost_ClientGivesUp(t *testing.T) {
	s := newScheduler(t, schedulertest.New(scheduler.Limits{}), scheduler.Config{})
	finish(t, s, submit(t, s, request(10, 1, 5)))
	lost := make(chan struct{})
	go func() { s.Lose(scheduler.ErrLost); close(lost) }()
	tickUntil(s, lost)
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan struct{})
	var err error
	go func() { defer close(answered); _, err = s.EraseSlot(ctx, 0, "") }()
	for range 100 {
		s.Tick()
	}
	select {
	case <-answered:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
	cancel()
	tickUntil(s, answered)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that the client gave up", err)
	}
}

func tickUntil(s *scheduler.Scheduler, done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		default:
			s.Tick()
		}
	}
}

// released is a backend that counts the passes after its owner has let it go.
type released struct {
	*schedulertest.Machine
	gone  bool
	after int
}

func (b *released) Start(batch *scheduler.Batch) error {
	if b.gone {
		b.after++
	}
	return b.Machine.Start(batch)
}

// When Lose has returned the backend is not used any more, also where a request is held back for
// others just then. It stays in the queue.
func TestScheduler_Lose_WhileARequestIsHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &released{Machine: schedulertest.NewMachine(schedulertest.New(scheduler.Limits{}), 2)}
		s := must.Get(scheduler.New(b, scheduler.Config{Slots: 2}))(t)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		arrived := s.Expect() // another is on its way
		st := submit(t, s, request(50, 1, 3))
		time.Sleep(time.Millisecond)
		s.Lose(fmt.Errorf("%w: the worker is gone", scheduler.ErrLost))
		b.gone = true
		time.Sleep(time.Second)
		arrived()
		synctest.Wait()
		if _, told := st.TryNext(); b.after > 0 || told {
			t.Errorf("%d passes after Lose had returned; the request that waits was told something: %v", b.after, told)
		}
		if snap, err := s.Inspect(ctx, 0); err != nil || len(snap.Queue) != 1 {
			t.Errorf("%d wait in the queue (%v)", len(snap.Queue), err)
		}
		stop()
		<-done
	})
}
