// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"context"
	"errors"
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
	"github.com/penstock/penstock/scheduler/schedulertest"
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
	s, err := scheduler.New(f, c)
	if err != nil {
		t.Fatal(err)
	}
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

// panicStrategy panics once; panicObserver whenever a request ends.
type panicStrategy struct{ armed *bool }

func (p panicStrategy) Chunk(d *estimator.Demand) int {
	if *p.armed {
		*p.armed = false
		panic("no strategy")
	}
	return estimator.DecodeMaximal{}.Chunk(d)
}

type panicObserver struct{}

func (panicObserver) Tick(scheduler.TickRecord)     {}
func (panicObserver) First(time.Duration)           {}
func (panicObserver) Token(time.Duration)           {}
func (panicObserver) Ended(scheduler.RequestRecord) { panic("ended") }

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

func TestPanic_OfTheObserver_EndsNothing(t *testing.T) {
	f := schedulertest.New(scheduler.Limits{})
	s, err := scheduler.New(f, scheduler.Config{Clock: f.Now, Observer: panicObserver{}, Log: slog.New(slog.DiscardHandler), QueueLimit: 1, Slots: 1})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 { // more than the queue would take if one were never counted out
		if a := complete(s, submit(t, s, request(10, 1, 5))); a.end.Reason != answer.ReasonLength {
			t.Errorf("ended as %v: %v", a.end.Reason, a.end.Err)
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
		s, err := scheduler.New(b, scheduler.Config{Slots: 1, Log: slog.New(slog.DiscardHandler), Clock: clock.now})
		if err != nil {
			t.Fatal(err)
		}
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
			if _, err := st.Next(ctx); err != nil {
				t.Fatal(err)
			}
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
