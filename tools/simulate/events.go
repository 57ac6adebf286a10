// SPDX-License-Identifier: MIT

package main

import "time"

// event is something that happens at a moment of virtual time.
type event struct {
	at           time.Duration
	number       uint64 // of two at the same moment the one that was added first comes first
	kind         kind
	replica      int           // of ticks and polls
	conversation *conversation // of sends
}

type kind int

const (
	begins kind = iota // a conversation
	sends              // a user, a message
	ticks              // a replica's scheduler
	polls              // the routers, a replica
)

func (e *event) before(other *event) bool {
	return e.at < other.at || e.at == other.at && e.number < other.number
}

// events are a heap: the earliest is the first, and none is earlier than the one at half its index.
type events struct {
	heap  []event
	added uint64
}

// add adds an event.
func (q *events) add(e event) {
	q.added++
	e.number = q.added
	q.heap = append(q.heap, e)
	i := len(q.heap) - 1
	for up := (i - 1) / 2; i > 0 && e.before(&q.heap[up]); up = (i - 1) / 2 {
		q.heap[i] = q.heap[up]
		i = up
	}
	q.heap[i] = e
}

// take removes the earliest event. There must be one.
func (q *events) take() event {
	earliest, last := q.heap[0], len(q.heap)-1
	e := q.heap[last]
	q.heap[last] = event{}
	q.heap = q.heap[:last]
	i := 0
	for {
		down := 2*i + 1
		if down+1 < last && q.heap[down+1].before(&q.heap[down]) {
			down++
		}
		if down >= last || e.before(&q.heap[down]) {
			break
		}
		q.heap[i] = q.heap[down]
		i = down
	}
	if last > 0 {
		q.heap[i] = e
	}
	return earliest
}
