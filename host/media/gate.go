// SPDX-License-Identifier: MIT

package media

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/penstock/penstock/scheduler/portion"
)

// gate lets callers to something that is bounded, such as memory. They take turns: among those that
// wait, the caller who was let in the longest ago is next, and nobody overtakes one that waits for
// others to leave. A caller has half of what the others leave, or what one request needs.
type gate struct {
	mu      sync.Mutex
	room    portion.Pool
	waiting []*visitor     // in the order in which they came
	served  map[string]int // of callers that wait or are inside: the number of their last that was let in
	last    int
	turn    time.Duration // that a visitor has before it rests
}

// usualTurn is how long a file is decoded while others wait to be. A neighbour's small one waits
// for as long.
const usualTurn = 100 * time.Millisecond

// visitor is one who waits, or was let in.
type visitor struct {
	gate   *gate
	caller string
	n      int64         // what it waits for, or has
	by     string        // for whom it counts: the caller, or nobody in particular
	inside chan struct{} // closed when it is let in
	since  time.Time     // when that was
}

// newGate makes a gate for limit in all, of which every caller may have least.
func newGate(limit, least int64) *gate {
	return &gate{room: portion.Pool{Limit: limit, Least: least}, served: map[string]int{}, turn: usualTurn}
}

// enter waits until a caller has n, which it gives back. The error is the cause of ctx.
func (g *gate) enter(ctx context.Context, caller string, n int64) (*visitor, error) {
	v := &visitor{gate: g, caller: caller, n: n, inside: make(chan struct{})}
	g.mu.Lock()
	if _, known := g.served[caller]; !known {
		g.served[caller] = g.last - 1 // before the one who was let in last, and after all who wait for longer
	}
	g.waiting = append(g.waiting, v)
	g.admit()
	g.mu.Unlock()
	if err := v.wait(ctx); err != nil {
		return nil, err
	}
	return v, nil
}

// wait waits until a visitor is let in. If ctx is done before, it has nothing.
func (v *visitor) wait(ctx context.Context) error {
	select {
	case <-v.inside:
		return nil
	case <-ctx.Done():
	}
	g := v.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.waiting, v); i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	} else {
		g.room.Give(v.by, v.n)
	}
	v.n = 0
	g.forget(v.caller)
	g.admit()
	return context.Cause(ctx)
}

// rest has a visitor whose turn is over leave, if another caller waits, and come in again after
// that one. If ctx is done before, it has nothing any more.
func (v *visitor) rest(ctx context.Context) {
	g := v.gate
	g.mu.Lock()
	if v.n == 0 || time.Since(v.since) < g.turn || !slices.ContainsFunc(g.waiting, func(w *visitor) bool { return w.caller != v.caller }) {
		g.mu.Unlock()
		return
	}
	g.room.Give(v.by, v.n)
	v.inside = make(chan struct{})
	g.waiting = slices.Insert(g.waiting, 0, v) // before what else its caller has
	g.admit()
	g.mu.Unlock()
	_ = v.wait(ctx) // whoever rests looks at ctx
}

// giveBack gives back a part of what a visitor has.
func (v *visitor) giveBack(n int64) {
	v.gate.mu.Lock()
	defer v.gate.mu.Unlock()
	v.n -= n
	v.gate.room.Give(v.by, n)
	v.gate.forget(v.caller)
	v.gate.admit()
}

// leave gives back all that a visitor still has.
func (v *visitor) leave() { v.giveBack(v.n) }

// forget forgets a caller that neither waits nor has anything.
func (g *gate) forget(caller string) {
	if g.room.Has(caller) == 0 && !slices.ContainsFunc(g.waiting, func(v *visitor) bool { return v.caller == caller }) {
		delete(g.served, caller)
	}
}

// admit lets in who can be let in. The caller holds the lock.
func (g *gate) admit() {
	for v := g.next(); v != nil; v = g.next() {
		i := slices.Index(g.waiting, v)
		g.waiting = slices.Delete(g.waiting, i, i+1)
		g.last++
		g.served[v.caller] = g.last
		v.since = time.Now()
		close(v.inside)
	}
}

// next takes the room for the next one, if there is any: of each caller its first counts.
func (g *gate) next() *visitor {
	var first []*visitor
	for _, v := range g.waiting {
		if !slices.ContainsFunc(first, func(f *visitor) bool { return f.caller == v.caller }) {
			first = append(first, v)
		}
	}
	slices.SortStableFunc(first, func(a, b *visitor) int { return cmp.Compare(g.served[a.caller], g.served[b.caller]) })
	for _, v := range first {
		v.by = v.caller
		if g.room.Take(v.by, v.n) == portion.Taken {
			return v
		}
		if g.room.Has(v.caller) > 0 {
			continue // it waits for what it has itself
		}
		if v.by = ""; g.room.Used() == 0 && g.room.Take(v.by, v.n) == portion.Taken {
			return v // more than its share, and nobody else has any
		}
		return nil
	}
	return nil
}
