// SPDX-License-Identifier: MIT

package scheduler

import (
	"context"
	"crypto/rand"
	"io"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
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
	ring      *ring.Ring[place] // an event's Seq is its index there
	ended     bool              // the reader has seen the End event
}

// place is an event in the ring: a token and its text, as nearly all are, or another. It is a third as large as an Event, so that the
// processor's caches hold the rings of many more slots.
type place struct {
	text   string
	token  Token
	origin chain.Origin
	other  *Event // nil: a token and its text
}

func newStream(s *Scheduler, j *job) *Stream {
	return &Stream{id: rand.Text(), scheduler: s, job: j}
}

// ID is a unique name that cannot be guessed.
func (st *Stream) ID() string { return st.id }

// TryNext takes the next event if there is one.
func (st *Stream) TryNext() (Event, bool) {
	p, seq, ok := st.ring.TryNext()
	if !ok {
		return Event{}, false
	}
	return st.took(p, seq), true
}

// Next takes the next event and waits for it. After End it returns io.EOF; the only other error is the context's.
func (st *Stream) Next(ctx context.Context) (Event, error) {
	if st.ended {
		return Event{}, io.EOF
	}
	p, seq, err := st.ring.Next(ctx)
	if err != nil {
		return Event{}, err
	}
	return st.took(p, seq), nil
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

// Forget has a stream of Request.Keep keep nothing more than it must: Attach reaches what is not read, and little before. The reader calls
// it.
func (st *Stream) Forget() { st.ring.Forget() }

// Missed counts the events that a slow reader lost under DropOldest.
func (st *Stream) Missed() uint64 { return st.ring.Missed() }

// Cancel ends the answer as cancelled within one tick. It may be called again and after the end.
func (st *Stream) Cancel() {
	st.scheduler.inbox.post(func(s *Scheduler) { s.end(st.job, End{Reason: answer.ReasonCancelled}) })
}

// took is the event that the reader has taken from a place.
func (st *Stream) took(p place, seq uint64) Event {
	if p.other == nil {
		return Event{Seq: seq, Kind: KindToken, Token: p.token, Text: p.text, Origin: p.origin}
	}
	e := *p.other
	e.Seq = seq
	if e.Kind == KindEnd {
		st.ended = true
	}
	return e
}

// sendToken is the tick's side, for a token that is shown.
func (st *Stream) sendToken(t *answer.Shown) {
	if t.Logprobs == nil && t.Trace == nil {
		st.push(place{text: t.Text, token: t.Token, origin: t.Origin})
		return
	}
	st.send(Event{Kind: KindToken, Token: t.Token, Text: t.Text, Origin: t.Origin, Logprobs: t.Logprobs, Trace: t.Trace})
}

// send is the tick's side, for any event. It gets the next number.
func (st *Stream) send(e Event) { st.push(place{other: &e}) }

func (st *Stream) push(p place) {
	if st.job.req.Overflow == DropOldest {
		st.ring.Overwrite(p)
	} else {
		st.ring.Push(p)
	}
}

// nudge wakes the tick when the reader has made room again.
func (st *Stream) nudge() { st.scheduler.inbox.post(func(*Scheduler) {}) }
