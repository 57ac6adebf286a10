// SPDX-License-Identifier: MIT

package encoder

import (
	"context"
	"slices"
)

// job is a picture or a sound that is encoded for all requests that wait for it.
type job struct {
	key     key
	client  string // who asked first
	decode  func(context.Context) (Media, error)
	ctx     context.Context // done when nobody waits any more
	cancel  context.CancelFunc
	waiting int           // requests
	cost    int           // embeddings that were begun; the encoder's goroutine counts
	done    chan struct{} // closed once pieces and err are there
	pieces  []Piece
	err     error
}

func newJob(parent context.Context, k key, r Source) *job {
	j := &job{key: k, client: r.Client, decode: r.Decode, waiting: 1, done: make(chan struct{})}
	j.ctx, j.cancel = context.WithCancel(parent)
	return j
}

// queue has the waiting jobs by client. The client for whom the least was encoded goes first. Who
// comes anew begins where the one who was served last began, so that a rest earns nothing; who has
// had more than that is remembered.
type queue struct {
	clients []*client // in the order in which they came
	clock   int       // what the one who is served had used before
}

type client struct {
	name    string
	used    int // embeddings
	jobs    []*job
	serving bool // one of its jobs is being encoded
}

func (q *queue) find(name string) *client {
	for _, c := range q.clients {
		if c.name == name {
			return c
		}
	}
	return nil
}

func (q *queue) add(j *job) {
	c := q.find(j.client)
	if c == nil {
		c = &client{name: j.client, used: q.clock}
		q.clients = append(q.clients, c)
	}
	c.used = max(c.used, q.clock)
	c.jobs = append(c.jobs, j)
}

// next takes the job whose turn it is; nil: there is none. served must follow.
func (q *queue) next() *job {
	var first *client
	for _, c := range q.clients {
		if len(c.jobs) > 0 && (first == nil || c.used < first.used) {
			first = c
		}
	}
	if first == nil {
		return nil
	}
	j := first.jobs[0]
	first.jobs = slices.Delete(first.jobs, 0, 1)
	first.serving = true
	q.clock = first.used
	return j
}

// served says that the job of next has ended, and what it cost.
func (q *queue) served(j *job) {
	c := q.find(j.client)
	c.used += j.cost
	c.serving = false
	q.forget()
}

// remove takes a waiting job out, and reports whether it was waiting.
func (q *queue) remove(j *job) bool {
	c := q.find(j.client)
	if c == nil {
		return false
	}
	i := slices.Index(c.jobs, j)
	if i < 0 {
		return false
	}
	c.jobs = slices.Delete(c.jobs, i, i+1)
	q.forget()
	return true
}

// forget drops clients that want nothing and would begin where newcomers do: all of them once
// nobody wants anything.
func (q *queue) forget() {
	wants := func(c *client) bool { return len(c.jobs) > 0 || c.serving }
	idle := !slices.ContainsFunc(q.clients, wants)
	q.clients = slices.DeleteFunc(q.clients, func(c *client) bool { return idle || !wants(c) && c.used <= q.clock })
	if idle {
		q.clock = 0
	}
}
