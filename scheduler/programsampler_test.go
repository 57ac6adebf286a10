// SPDX-License-Identifier: MIT

package scheduler_test

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/program"
	"github.com/penstock/penstock/scheduler/schedulertest"
)

var discard = slog.New(slog.DiscardHandler)

// lifetimes counts the samplers of programs that are open, and what is done to those that are not.
type lifetimes struct{ open, closedTwice, usedAfter atomic.Int32 }

// wrong is what nobody may have done; all of them are closed at the end.
func (l *lifetimes) wrong(t testing.TB, atTheEnd bool) {
	t.Helper()
	if n := l.open.Load(); n != 0 && atTheEnd {
		t.Errorf("%d samplers are still open", n)
	}
	if l.closedTwice.Load()+l.usedAfter.Load() > 0 {
		t.Errorf("samplers were closed twice %d times, and used after they were closed %d times", l.closedTwice.Load(), l.usedAfter.Load())
	}
}

// chain makes samplers that are counted: the backend draws for them, or background samplers do.
func (l *lifetimes) chain(native bool) *program.Chain { return l.slowChain(native, nil) }

// slowChain makes samplers that wait for something before each draw.
func (l *lifetimes) slowChain(native bool, wait func()) *program.Chain {
	return program.NewChain(func(uint64, int) ([]chain.Stage, error) {
		l.open.Add(1)
		return []chain.Stage{&mortal{of: l, native: native, wait: wait}}, nil
	})
}

// mortal is a stage of theirs.
type mortal struct {
	schedulertest.Sampled
	of     *lifetimes
	native bool
	wait   func() // before each draw of a program's own; nil: nothing
	closed atomic.Bool
}

var errClosedStage = errors.New("the stage is closed")

func (m *mortal) alive() error {
	if m.closed.Load() {
		m.of.usedAfter.Add(1)
		return errClosedStage
	}
	return nil
}

func (m *mortal) Native() bool { return m.native }

func (m *mortal) Apply(v *chain.View) error {
	if m.wait != nil {
		m.wait()
	}
	return errors.Join(m.alive(), m.Sampled.Apply(v))
}

func (m *mortal) Accept(scheduler.Token) (chain.Effect, error) { return chain.Effect{}, m.alive() }

func (m *mortal) Reset([]scheduler.Token, int) error { return m.alive() }

func (m *mortal) Close() error {
	if m.closed.Swap(true) {
		m.of.closedTwice.Add(1)
		return nil
	}
	m.of.open.Add(-1)
	return nil
}

// samplerLives are what becomes of a branch that draws with a chain.
var samplerLives = map[string]func(t *testing.T, r *program.Run, of *program.Branch, c *program.Chain) error{
	"closed before the wait": func(_ *testing.T, r *program.Run, of *program.Branch, c *program.Chain) error {
		err := of.Run(c, 10, false)
		of.Close()
		_, waits := r.Wait(1, false)
		return errors.Join(err, waits)
	},
	"closed after a wait for any": func(_ *testing.T, r *program.Run, of *program.Branch, c *program.Chain) error {
		if err := of.Run(c, 10, false); err != nil {
			return err
		}
		if _, err := r.Wait(1, true, of, mustOpen(r, r.Prompt())); err != nil {
			return err
		}
		of.Close()
		_, err := r.Wait(1, false)
		return err
	},
	"returned without a wait": func(_ *testing.T, _ *program.Run, of *program.Branch, c *program.Chain) error {
		return of.Run(c, 10, false)
	},
	"returned while it runs": func(_ *testing.T, r *program.Run, of *program.Branch, c *program.Chain) error {
		err := of.Run(c, 10, false)
		_, waits := r.Wait(1, false)
		return errors.Join(err, waits)
	},
	"panics": func(_ *testing.T, _ *program.Run, of *program.Branch, c *program.Chain) error {
		_ = of.Run(c, 10, false)
		panic("a program")
	},
	"runs again and again": func(_ *testing.T, r *program.Run, of *program.Branch, c *program.Chain) error {
		for range 20 {
			if err := of.Run(c, 2, false); err != nil {
				return err
			}
			if _, err := r.Wait(0, false, of); err != nil {
				return err
			}
		}
		if err := of.Run(c, 20, false); err != nil { // it is not waited for
			return err
		}
		_, err := r.Wait(0, false)
		of.Close()
		_, waits := r.Wait(0, false, mustOpen(r, r.Prompt()))
		return errors.Join(err, waits)
	},
	"cancelled at work": func(_ *testing.T, r *program.Run, of *program.Branch, c *program.Chain) error {
		err := of.Run(c, 10, false)
		time.Sleep(time.Minute)
		return err
	},
	"more chains than a branch keeps": func(t *testing.T, r *program.Run, of *program.Branch, c *program.Chain) error {
		l := new(lifetimes)
		defer l.wrong(t, false)
		for _, other := range []*program.Chain{c, l.chain(true), l.chain(false), c} {
			if err := of.Run(other, 3, true); err != nil {
				return err
			}
			if _, err := r.Wait(0, false, of); err != nil {
				return err
			}
		}
		return nil
	},
}

// Each sampler of a branch is closed, once, and not while somebody draws with it: whatever becomes
// of the branch, of its runs and of the request.
func TestProgram_Samplers_AreClosedOnce(t *testing.T) {
	for name, f := range samplerLives {
		t.Run(name, func(t *testing.T) {
			for _, native := range []bool{true, false} {
				var l lifetimes
				inBubble(t, scheduler.Limits{}, scheduler.Config{Slots: 4, Log: discard}, func(b bubble) {
					st := submit(t, b.Scheduler, written(20, 1, 3, func(r *program.Run) error {
						of := mustOpen(r, r.Prompt())
						if _, err := r.Wait(1, false, of); err != nil {
							return err
						}
						return f(t, r, of, l.chain(native))
					}))
					if name == "cancelled at work" {
						time.Sleep(time.Second)
						st.Cancel()
					}
					if a := b.read(st); a.end.Err != nil && name != "panics" {
						t.Error(a.end.Err)
					}
				})
				l.wrong(t, true)
			}
		})
	}
}

// A program draws from a row with a chain that takes long, in its stages' preparation or in their
// choice: nobody waits for it, and the token is that of the row, which passes have overwritten
// meanwhile.
func TestProgram_Sample_HoldsUpNobody(t *testing.T) {
	for name, prepares := range map[string]bool{"prepares": true, "applies": false} {
		t.Run(name, func(t *testing.T) {
			b := schedulertest.New(scheduler.Limits{})
			s := newScheduler(t, b, scheduler.Config{Slots: 2})
			gate, draws := make(chan struct{}), make(chan struct{}, 1)
			wait := func() { draws <- struct{}{}; <-gate }
			c := program.NewChain(func(uint64, int) ([]chain.Stage, error) {
				m := &mortal{of: new(lifetimes)}
				if prepares {
					return []chain.Stage{&guest{prepare: func() (p chain.Prepared, _ error) { wait(); return }}, m}, nil
				}
				m.wait = wait
				return []chain.Stage{m}, nil
			})
			st := submit(t, s, written(20, 1, 1, func(r *program.Run) error {
				root := mustOpen(r, r.Prompt())
				if _, err := r.Wait(1, false, root); err != nil {
					return err
				}
				token, err := root.Sample(c)
				return errors.Join(err, showTokens(r, []program.Token{token}))
			}))
			for len(draws) == 0 {
				s.Tick()
			}
			beside := submit(t, s, request(50, 2, 400))
			late := time.AfterFunc(time.Minute, func() {
				t.Error("the tick waits for a program that draws")
				close(gate)
			})
			slow, neighbour := new(received), new(received)
			for neighbour.end == nil {
				s.Tick()
				neighbour.read(beside)
			}
			if late.Stop() {
				close(gate)
			}
			for slow.end == nil {
				s.Tick()
				slow.read(st)
			}
			want := schedulertest.New(scheduler.Limits{}).GoesOn(prompt(20, 1)[0].Tokens, 1)
			if slow.end.Err != nil || len(slow.tokens) != 1 || slow.tokens[0] != want[0] || len(neighbour.tokens) != 400 {
				t.Errorf("the program has drawn %v (%v), the model says %v; its neighbour has %d tokens", slow.tokens, slow.end.Err, want, len(neighbour.tokens))
			}
		})
	}
}
