// SPDX-License-Identifier: MIT

package media

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock/penstock/tools/steadytest"
)

// world is a gate, and who was let in, in order; those at once by their names.
type world struct {
	gate   *gate
	mu     sync.Mutex
	inside []*visitor
	seen   int
}

// queueUp has callers come to the gate, one after another.
func (w *world) queueUp(t *testing.T, n int64, callers ...string) {
	for _, caller := range callers {
		go func() {
			v, err := w.gate.enter(t.Context(), caller, n)
			if err != nil {
				t.Error(err)
				return
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			w.inside = append(w.inside, v)
		}()
		w.wait()
	}
}

func (w *world) wait() {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.SortFunc(w.inside[w.seen:], func(a, b *visitor) int { return cmp.Compare(a.caller, b.caller) })
	w.seen = len(w.inside)
}

// leave has all leave, in the order in which they came in, and gives that order.
func (w *world) leave() (order []string) {
	for i := 0; i < len(w.inside); i++ {
		v := w.inside[i]
		order = append(order, v.caller)
		v.leave()
		w.wait()
	}
	return order
}

// One caller's twelve files delay another's single one by the one that is being decoded.
func TestGate_Enter_CallersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{gate: newGate(1, 1)}
		w.queueUp(t, 1, slices.Repeat([]string{"one"}, 12)...)
		w.queueUp(t, 1, "two", "three", "two")
		order, g := w.leave(), w.gate
		want := append([]string{"one", "two", "three", "one", "two"}, slices.Repeat([]string{"one"}, 10)...)
		if !slices.Equal(order, want) {
			t.Errorf("%v\nwant %v", order, want)
		}
		if g.room.Used() != 0 || len(g.served) != 0 {
			t.Errorf("left: %d, %v", g.room.Used(), g.served)
		}
	})
}

// A caller has half of what others leave. What one request needs beyond that it gets when nobody
// else has any, and nobody who comes later goes before it.
func TestGate_Enter_Shares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{gate: newGate(100, 0)}
		w.queueUp(t, 25, "one", "one", "one", "two", "two")
		if len(w.inside) != 3 || w.gate.room.Has("one") != 50 || w.gate.room.Has("two") != 25 {
			t.Fatalf("%d are let in; one has %d, two %d", len(w.inside), w.gate.room.Has("one"), w.gate.room.Has("two"))
		}
		w.queueUp(t, 80, "three")
		w.queueUp(t, 1, "four")
		if order, want := w.leave(), []string{"one", "one", "two", "one", "four", "three", "two"}; !slices.Equal(order, want) {
			t.Errorf("let in: %v, want %v", order, want) // four beside three, and not before
		}
	})
}

// Whoever comes, leaves or gives up, all is given back, and nobody waits while there is room.
func TestGate_World(t *testing.T) {
	r := steadytest.Rand(t)
	synctest.Test(t, func(t *testing.T) {
		g := newGate(1+r.Int64N(50), 0)
		gone := errors.New("gone")
		var stops []context.CancelCauseFunc
		inside := make(chan *visitor, 1000)
		for range 300 {
			switch n := 1 + r.Int64N(g.room.Limit); {
			case r.IntN(2) == 0:
				ctx, stop := context.WithCancelCause(t.Context())
				stops = append(stops, stop)
				caller := fmt.Sprint(r.IntN(4))
				go func() {
					if v, err := g.enter(ctx, caller, n); err == nil {
						inside <- v
					} else if !errors.Is(err, gone) {
						t.Error(err)
					}
				}()
			case len(inside) > 0 && r.IntN(3) == 0:
				v := <-inside
				time.Sleep(usualTurn)
				ctx, stop := context.WithCancelCause(t.Context())
				stops = append(stops, stop)
				go func() {
					v.rest(ctx)
					inside <- v
				}()
			case len(inside) > 0:
				v := <-inside
				v.leave()
			case len(stops) > 0:
				stops[r.IntN(len(stops))](gone)
			}
			synctest.Wait()
			if used := g.room.Used(); used > g.room.Limit || used == 0 && len(g.waiting) > 0 {
				t.Fatalf("%d of %d are used, %d wait", used, g.room.Limit, len(g.waiting))
			}
		}
		for len(inside) > 0 {
			v := <-inside
			v.leave()
			synctest.Wait()
		}
		if g.room.Used() != 0 || len(g.waiting) != 0 {
			t.Errorf("%d are used, %d wait", g.room.Used(), len(g.waiting))
		}
		for _, stop := range stops {
			stop(gone)
		}
	})
}

// Whoever is inside for long lets another caller in, and goes on after that one and before what
// else its own caller waits for.
func TestVisitor_Rest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{gate: newGate(1, 1)}
		w.queueUp(t, 1, "one", "one")
		first := w.inside[0]
		time.Sleep(usualTurn)
		first.rest(t.Context())
		if len(w.inside) != 1 {
			t.Fatal("it rests for its own caller")
		}
		w.queueUp(t, 1, "two")
		first.since = time.Now()
		first.rest(t.Context())
		if len(w.inside) != 1 {
			t.Fatal("it rests before its turn is over")
		}
		time.Sleep(usualTurn)
		rested := false
		go func() {
			first.rest(t.Context())
			rested = true
		}()
		w.wait()
		if len(w.inside) != 2 || w.inside[1].caller != "two" || rested {
			t.Fatalf("%d are let in", len(w.inside))
		}
		w.inside[1].leave()
		w.wait()
		if !rested || len(w.inside) != 2 {
			t.Fatalf("it goes on: %t; %d were let in", rested, len(w.inside))
		}
		first.leave()
		w.wait()
		w.inside[2].leave()
		if w.gate.room.Used() != 0 || len(w.gate.served) != 0 {
			t.Errorf("left: %d, %v", w.gate.room.Used(), w.gate.served)
		}
	})
}

// Whoever gives up while it rests has nothing any more.
func TestVisitor_Rest_GivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{gate: newGate(1, 1)}
		w.queueUp(t, 1, "one", "two")
		time.Sleep(usualTurn)
		ctx, stop := context.WithCancel(t.Context())
		go func() {
			w.inside[0].rest(ctx)
			w.inside[0].leave()
		}()
		w.wait()
		stop()
		w.wait()
		w.inside[1].leave()
		if w.gate.room.Used() != 0 || len(w.gate.served) != 0 {
			t.Errorf("left: %d, %v", w.gate.room.Used(), w.gate.served)
		}
	})
}
