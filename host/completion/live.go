// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"errors"
	"sync"
)

// Live is an answer for a reader in this process. What it holds is given back once, when its reader
// has left, its context is done, or it is ended from elsewhere: after this nobody uses the model.
type Live struct {
	Choice *Choice
	Whole  Whole // as far as it was read

	ctx  context.Context
	stop func() bool // of what ends it with ctx
	over func(*Live)

	reading sync.Mutex // held by who reads, and for what follows
	ended   bool
	err     error
}

// ErrRead says that another goroutine reads the answer.
var ErrRead = errors.New("the answer is being read; one goroutine reads it at a time")

// errLeft is that of a reader who has had enough.
var errLeft = errors.New("the reader has left")

// NewLive is the answer to a request that has one. over is called when all is given back.
func NewLive(ctx context.Context, r *Submitted, over func(*Live)) *Live {
	l := &Live{Choice: r.Choices[0], ctx: ctx, over: over}
	whole := make(chan struct{})
	l.stop = context.AfterFunc(ctx, func() {
		<-whole
		l.End(context.Cause(ctx))
	})
	close(whole)
	return l
}

// Read reads the answer to its end, or until take is false. Nothing is left to be read then. Its
// errors are those of Typed.
func (l *Live) Read(take func(Delta) bool) error {
	if !l.reading.TryLock() {
		return Typed(context.Background(), ErrRead, "") // even if ctx is done: who reads goes on using the answer
	}
	defer l.reading.Unlock()
	if !l.ended {
		l.read(take)
	}
	return Typed(l.ctx, l.err, l.Choice.Request.PromptField)
}

func (l *Live) read(take func(Delta) bool) {
	defer l.release()
	l.err = l.Choice.Request.Read(l.ctx, func(_ *Choice, d Delta) error {
		if err := l.ctx.Err(); err != nil {
			return err // nobody wants what has arrived and was not read
		}
		if l.Whole.Add(d); !take(d) {
			return errLeft
		}
		return nil
	}, func() error { return nil })
	if errors.Is(l.err, errLeft) {
		l.err = nil
	}
}

// End ends the answer: why is the error of who reads it later. What it holds is given back now, or
// by who is reading it.
func (l *Live) End(why error) {
	l.Choice.Stream.Cancel()
	if !l.reading.TryLock() {
		return
	}
	defer l.reading.Unlock()
	if !l.ended {
		l.err = why
		l.release()
	}
}

// release gives back what the answer holds.
func (l *Live) release() {
	l.ended = true
	l.stop()
	l.Choice.Request.Cancel()
	l.Choice.Request.Release()
	l.over(l)
}
