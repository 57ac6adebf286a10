// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/penstock/penstock/scheduler"
)

// Live is an answer for a reader in this process. What it holds is given back once, when its reader
// has left or has read the end, its context is done, or it is ended from elsewhere: after this
// nobody uses the model.
type Live struct {
	Choice *Choice
	Whole  Whole // as far as it was read

	ctx  context.Context
	stop func() bool // of what ends it with ctx
	over func(*Live)

	mu      sync.Mutex
	reading bool  // somebody reads, and gives back what is to be given back then
	ending  bool  // End was called meanwhile
	why     error // with ending
	ended   bool
	err     error // with ended
	gained  Delta // the reader's
}

// ErrRead says that another goroutine reads the answer.
var ErrRead = errors.New("the answer is being read; one goroutine reads it at a time")

// errLeft ends the answer of a reader who has had enough.
var errLeft = errors.New("the reader has left")

// errOver says that all was read. It is not io.EOF, which an answer may have failed for.
var errOver = errors.New("all was read")

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
// errors are as Typed makes them.
func (l *Live) Read(take func(*Delta) bool) error {
	err := l.begin()
	if err == nil {
		err = l.read(take)
	}
	if errors.Is(err, errOver) {
		return nil
	}
	return l.typeError(err)
}

func (l *Live) read(take func(*Delta) bool) (err error) {
	defer func() { l.leave(true, err) }()
	err = l.Choice.Request.Read(l.ctx, func(_ *Choice, d Delta) error {
		if err := l.ctx.Err(); err != nil {
			return err // nobody wants what has arrived and was not read
		}
		l.gained = d
		if l.Whole.Add(&l.gained); !take(&l.gained) {
			return errLeft
		}
		return nil
	}, func() error { return nil })
	if errors.Is(err, errLeft) {
		err = nil
	}
	return err
}

// Drain gives take what the answer has gained, until that is all or take is false. It waits for the
// first, if it is to. After the end, the error is io.EOF, or why the answer was ended, as Typed has
// it.
func (l *Live) Drain(wait bool, take func(*Delta) (more bool)) error {
	err := l.begin()
	if err == nil {
		err = l.drain(wait, take)
	}
	if errors.Is(err, errOver) {
		return io.EOF
	}
	return l.typeError(err)
}

func (l *Live) drain(wait bool, take func(*Delta) (more bool)) (err error) {
	over := true // unless it gets to where more may come
	defer func() { l.leave(over, err) }()
	if err := l.ctx.Err(); err != nil {
		return err // nobody wants what has arrived and was not read
	}
	d := &l.gained
	for more := true; more; wait = false {
		ok := true
		if wait {
			err = l.Choice.next(l.ctx, d)
		} else {
			ok, err = l.Choice.poll(d)
		}
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		l.Whole.Add(d)
		if more = take(d); d.Event.Kind == scheduler.KindEnd {
			return nil
		}
	}
	over = false
	return nil
}

// typeError words err for the program that reads. That another goroutine reads is told even when
// the context is done: the other one goes on using the answer.
func (l *Live) typeError(err error) error {
	if errors.Is(err, ErrRead) {
		return Typed(context.Background(), err, "")
	}
	return Typed(l.ctx, err, l.Choice.Request.PromptField)
}

// begin begins to read; an error says that there is nothing to read, or not now.
func (l *Live) begin() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.reading:
		return ErrRead
	case l.ended && l.err != nil:
		return l.err
	case l.ended:
		return errOver
	}
	l.reading = true
	return nil
}

// leave ends what begin began. With over, nobody reads on, for a reason; nil: all was read that was
// wanted.
func (l *Live) leave(over bool, why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reading = false
	switch {
	case over:
		l.release(why)
	case l.ending:
		l.release(l.why)
	}
}

// End ends the answer: why is the error of who reads it later. What it holds is given back now, or
// by who is reading it.
func (l *Live) End(why error) {
	l.Choice.Stream.Cancel()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.reading:
		l.ending, l.why = true, why
	case !l.ended:
		l.release(why)
	}
}

// release gives back what the answer holds. l.mu is held.
func (l *Live) release(why error) {
	l.ended, l.err = true, why
	l.stop()
	l.Choice.Request.Cancel()
	l.Choice.Request.Release()
	l.over(l)
}
