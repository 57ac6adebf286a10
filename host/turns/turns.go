// SPDX-License-Identifier: MIT

// Package turns lets the clients of a server take turns at what few can have at a time, so that
// none waits for all that another has asked for. Models take turns at computing by another
// mechanism, scheduler.ComputeLock.
package turns

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Queue has what waits, by client, in start-time fair queueing (Goyal, Vin and Cheng, 1996): the
// client for whom the least was done goes first, and who comes anew begins at the virtual time,
// where the one who was served last began. So a rest earns nothing, and who has had more than that
// is remembered. Its methods do not run concurrently.
type Queue[T comparable] struct {
	clients []*client[T] // in the order in which they came
	clock   int64        // the virtual time: what the one who was served last had used before
}

type client[T comparable] struct {
	name    string
	used    int64
	waiting []T
	served  int // how many of it are served now
}

func (q *Queue[T]) find(name string) *client[T] {
	for _, c := range q.clients {
		if c.name == name {
			return c
		}
	}
	return nil
}

// Len is how many wait.
func (q *Queue[T]) Len() (n int) {
	for _, c := range q.clients {
		n += len(c.waiting)
	}
	return n
}

// Add has something of a client wait.
func (q *Queue[T]) Add(name string, x T) {
	c := q.find(name)
	if c == nil {
		c = &client[T]{name: name, used: q.clock}
		q.clients = append(q.clients, c)
	}
	c.used = max(c.used, q.clock)
	c.waiting = append(c.waiting, x)
}

// Next takes what has its turn; false: nothing waits. Served must follow.
func (q *Queue[T]) Next() (x T, found bool) {
	var first *client[T]
	for _, c := range q.clients {
		if len(c.waiting) > 0 && (first == nil || c.used < first.used) {
			first = c
		}
	}
	if first == nil {
		return x, false
	}
	x = first.waiting[0]
	first.waiting = slices.Delete(first.waiting, 0, 1)
	first.served++
	q.clock = first.used
	return x, true
}

// Served says that something of a client, which Next has returned, has ended, and what it cost.
func (q *Queue[T]) Served(name string, cost int64) {
	if c := q.find(name); c != nil {
		c.used += cost
		c.served--
		q.forget()
	}
}

// Remove takes out what waits, and reports whether it waited.
func (q *Queue[T]) Remove(name string, x T) bool {
	c := q.find(name)
	if c == nil {
		return false
	}
	i := slices.Index(c.waiting, x)
	if i < 0 {
		return false
	}
	c.waiting = slices.Delete(c.waiting, i, i+1)
	q.forget()
	return true
}

// forget drops clients that want nothing and would begin where newcomers do: all of them once
// nobody wants anything.
func (q *Queue[T]) forget() {
	wants := func(c *client[T]) bool { return len(c.waiting) > 0 || c.served > 0 }
	idle := !slices.ContainsFunc(q.clients, wants)
	q.clients = slices.DeleteFunc(q.clients, func(c *client[T]) bool { return idle || !wants(c) && c.used <= q.clock })
	if idle {
		q.clock = 0
	}
}

// Permits are a number of permits that clients take in turns: the client goes first whose work had
// them for the shortest time.
type Permits struct {
	all int

	mu      sync.Mutex
	free    int
	waiting Queue[*Turn]
}

// Turn is a client's wait for a permit, and then the permit, until its End.
type Turn struct {
	permits *Permits
	client  string
	came    chan struct{}
	began   time.Time // when it came
}

// NewPermits returns n of them.
func NewPermits(n int) *Permits { return &Permits{all: n, free: n} }

// Taken is how many permits are given away.
func (p *Permits) Taken() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all - p.free
}

// Waiting is how many wait for a permit.
func (p *Permits) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting.Len()
}

// Ask begins to wait for a permit.
func (p *Permits) Ask(client string) *Turn {
	t := &Turn{permits: p, client: client, came: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting.Add(client, t)
	p.serve()
	return t
}

// Came is closed once the permit is there.
func (t *Turn) Came() <-chan struct{} { return t.came }

// End gives the permit back, or the wait up. It is called once.
func (t *Turn) End() {
	p := t.permits
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting.Remove(t.client, t) {
		return
	}
	p.free++
	p.waiting.Served(t.client, int64(time.Since(t.began)))
	p.serve()
}

// Take waits for a permit until ctx is done. The permit ends with the function that it returns,
// which is called once; the only error is ctx's.
func (p *Permits) Take(ctx context.Context, client string) (give func(), err error) {
	t := p.Ask(client)
	select {
	case <-t.Came():
		return t.End, nil
	case <-ctx.Done():
		t.End()
		return nil, ctx.Err()
	}
}

// serve gives away what is free.
func (p *Permits) serve() {
	for p.free > 0 && p.waiting.Len() > 0 {
		next, _ := p.waiting.Next()
		p.free--
		next.began = time.Now()
		close(next.came)
	}
}
