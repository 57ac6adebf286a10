// SPDX-License-Identifier: MIT

package scheduler

import (
	"context"
	"crypto/rand"
	"io"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/ring"
)

// Stream is the answer to one request, as its reader sees it: events, of which Kind tells the order
// and the last is End. One goroutine reads at a time; the other methods may be called from
// anywhere.
//
// A reader that goes away calls Cancel; the slot is free within one tick.
type Stream struct {
	id        string
	scheduler *Scheduler
	job       *job
	ring      *ring.Ring[answer.Shown] // an event's Seq is its index there
	done      chan struct{}            // closed when it has the End event
	ended     bool                     // the reader has seen that
}

func newStream(s *Scheduler, j *job) *Stream {
	return &Stream{id: rand.Text(), scheduler: s, job: j, done: make(chan struct{})}
}

// ID is a unique name that cannot be guessed.
func (st *Stream) ID() string { return st.id }

// TryNext takes the next event if there is one.
func (st *Stream) TryNext() (Event, bool) {
	shown, seq, ok := st.ring.TryNext()
	if !ok {
		return Event{}, false
	}
	return st.took(shown, seq), true
}

// Next takes the next event and waits for it. After End it returns io.EOF; the only other error is
// the context's.
func (st *Stream) Next(ctx context.Context) (Event, error) {
	if st.ended {
		return Event{}, io.EOF
	}
	shown, seq, err := st.ring.Next(ctx)
	if err != nil {
		return Event{}, err
	}
	return st.took(shown, seq), nil
}

// Done is closed when the answer has ended, and its last event can be read.
func (st *Stream) Done() <-chan struct{} { return st.done }

// Missed counts the events that a slow reader lost under DropOldest.
func (st *Stream) Missed() uint64 { return st.ring.Missed() }

// Cancel ends the answer as cancelled within one tick. It may be called again and after the end.
func (st *Stream) Cancel() {
	st.scheduler.inbox.post(func(s *Scheduler) { s.end(st.job, End{Reason: answer.ReasonCancelled}) })
}

// took is the event of what the reader has taken from the ring.
func (st *Stream) took(s answer.Shown, seq uint64) Event {
	more := s.More
	if more == nil {
		return Event{Seq: seq, Kind: KindToken, Token: s.Token, Text: s.Text, Origin: s.Origin}
	}
	switch {
	case more.TakenBack > 0:
		return Event{Seq: seq, Kind: KindRewound, Rewound: &Rewound{Tokens: more.TakenBack, Text: s.Text}}
	case more.Output != nil:
		return Event{Seq: seq, Kind: KindOutput, Output: more.Output}
	case more.Other != nil:
		e := *more.Other.(*Event)
		e.Seq = seq
		st.ended = st.ended || e.Kind == KindEnd
		return e
	}
	return Event{Seq: seq, Kind: KindToken, Token: s.Token, Text: s.Text, Origin: s.Origin, Logprobs: more.Logprobs, Trace: more.Trace}
}

// send is the tick's side, for an event of the scheduler's own.
func (st *Stream) send(e Event) {
	st.push(answer.Shown{More: &answer.More{Other: &e}})
	if e.Kind == KindEnd {
		close(st.done)
	}
}

// push is the tick's side. What it pushes gets the next number.
func (st *Stream) push(s answer.Shown) {
	if st.job.req.Overflow == DropOldest {
		st.ring.Overwrite(s)
	} else {
		st.ring.Push(s)
	}
}

// nudge wakes the tick when the reader has made room again.
func (st *Stream) nudge() { st.scheduler.inbox.post(func(*Scheduler) {}) }
