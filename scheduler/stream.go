// SPDX-License-Identifier: MIT

package scheduler

import (
	"context"
	"crypto/rand"
	"io"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/ring"
)

// Stream is the answer to one request, as its reader sees it: a Started event unless it ended in the queue, Token events, one End. One
// goroutine reads at a time; the other methods may be called from anywhere.
//
// A reader that goes away calls Cancel; the slot is free within one tick.
type Stream struct {
	id        string
	scheduler *Scheduler
	job       *job
	ring      *ring.Ring[Event]
	ended     bool   // the reader has seen the End event
	sent      uint64 // events, for the tick
}

func newStream(s *Scheduler, j *job) *Stream {
	return &Stream{id: rand.Text(), scheduler: s, job: j}
}

// ID is a unique name that cannot be guessed.
func (st *Stream) ID() string { return st.id }

// TryNext takes the next event if there is one.
func (st *Stream) TryNext() (Event, bool) {
	e, ok := st.ring.TryNext()
	st.saw(e)
	return e, ok
}

// Next takes the next event and waits for it. After End it returns io.EOF; the only other error is the context's.
func (st *Stream) Next(ctx context.Context) (Event, error) {
	if st.ended {
		return Event{}, io.EOF
	}
	e, err := st.ring.Next(ctx)
	st.saw(e)
	return e, err
}

// Attach lets a new reader go on after event seq, which the last reader has seen; -1 begins at the first. Events that are not
// there yet, or, without Request.Keep, no longer, give ring.ErrGone.
func (st *Stream) Attach(seq int64) error {
	if err := st.ring.Seek(uint64(seq + 1)); err != nil {
		return err
	}
	st.ended = false
	return nil
}

// Missed counts the events that a slow reader lost under DropOldest.
func (st *Stream) Missed() uint64 { return st.ring.Missed() }

// Cancel ends the answer as cancelled within one tick. It may be called again and after the end.
func (st *Stream) Cancel() {
	st.scheduler.inbox.post(func(s *Scheduler) { s.end(st.job, End{Reason: answer.ReasonCancelled}) })
}

func (st *Stream) saw(e Event) {
	if e.Kind == KindEnd {
		st.ended = true
	}
}

// send is the tick's side: it numbers the event and pushes it.
func (st *Stream) send(e Event) {
	e.Seq = st.sent
	st.sent++
	if st.job.req.Overflow == DropOldest {
		st.ring.Overwrite(e)
	} else {
		st.ring.Push(e)
	}
}

// nudge wakes the tick when the reader has made room again.
func (st *Stream) nudge() { st.scheduler.inbox.post(func(*Scheduler) {}) }
