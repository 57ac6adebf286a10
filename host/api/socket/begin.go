// SPDX-License-Identifier: MIT

package socket

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/operation"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/scheduler"
	ending "github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/panics"
)

// statusGone is what logs show for an answer that its client did not wait for, nginx's number.
const statusGone = 499

// preparation makes an answer ready to be forwarded. It may take long: a model is loaded, a
// template rendered. It ends soon when ctx does.
type preparation func(ctx context.Context, a *answer) error

// operate begins an answer, which is an operation of its own.
func (k *connection) operate(f clientFrame, field, id string, prepare preparation) error {
	_, op := operation.From(k.ctx).Part(k.ctx, f.Type)
	done := func(err error) error {
		status := http.StatusOK
		switch {
		case isGone(err):
			status = statusGone
		case err != nil:
			status = wire.StatusOf(completion.AsError(err, "request"))
		}
		op.Done(status, 0, err)
		return err
	}
	err := op.Admit()
	if err == nil {
		err = checkNew(f)
	}
	if err == nil {
		err = k.begin(f, field, id, func(ctx context.Context, a *answer) error {
			return done(k.rescue(func() error { return prepare(op.With(ctx), a) }))
		})
	}
	if err != nil {
		return done(err)
	}
	return nil
}

// begin has an answer prepared and forwarded beside the reader. Its id is taken from now on.
func (k *connection) begin(f clientFrame, field, id string, prepare preparation) error {
	a := &answer{connection: k, id: id, ready: make(chan struct{}), lane: lane{room: make(chan struct{}, maxWaiting)}, released: make(chan struct{})}
	ctx, abandon := context.WithCancel(k.ctx)
	a.abandon = abandon
	a.reading, a.stop = context.WithCancel(k.ctx)
	err := k.enter()
	if err == nil {
		if err = k.reserve(field, a, func() { a.run(ctx, f, prepare) }); err != nil {
			k.leave()
		}
	}
	if err != nil {
		a.abandon()
		a.stop()
	}
	return err
}

// enter waits until there is room for one more goroutine beside the reader.
func (k *connection) enter() error {
	select {
	case k.room <- struct{}{}:
		return nil
	case <-k.ctx.Done():
		return refusal.ErrGone
	}
}

func (k *connection) leave() { <-k.room }

// reserve takes an id for an answer and has it run. It refuses an id that is in use, and too many
// answers at once.
func (k *connection) reserve(field string, a *answer, run func()) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.closing:
		return scheduler.ErrClosed
	case k.answers[a.id] != nil:
		return refusal.Invalid(field, "%s %q is in use", field, a.id)
	case len(k.answers) >= maxAnswers:
		return &refusal.Error{Kind: refusal.KindBusy, Code: "too_many_streams",
			Message: fmt.Sprintf("%d answers are going on in this connection; wait for one to end", maxAnswers)}
	}
	k.answers[a.id] = a
	k.going++
	k.forwarding.Go(func() {
		defer k.leave()
		defer k.free()
		run()
	})
	return nil
}

// free notes that an answer is forwarded no more.
func (k *connection) free() {
	k.mu.Lock()
	k.going--
	k.mu.Unlock()
	select {
	case k.freed <- struct{}{}:
	default:
	}
}

// run prepares an answer and forwards it. f is the frame that asks for it.
func (a *answer) run(ctx context.Context, f clientFrame, prepare preparation) {
	defer a.abandon()
	k := a.connection
	err := prepare(ctx, a)
	switch cancelled := a.prepared(err == nil); {
	case err == nil:
		k.conclude(f, nil)
		k.served.Store(true)
		if cancelled {
			a.stream.Cancel()
		}
		a.forward(a.reading)
		return
	case cancelled && isGone(err):
		k.conclude(f, nil)
		k.send(k.ctx, endFrame{Type: "end", ID: a.id, Reason: ending.ReasonCancelled.String()})
	default:
		k.conclude(f, err)
	}
	a.stop()
}

// prepared lets the frames for the answer that wait go on. It reports whether the client has
// cancelled the answer meanwhile. The id of one that was not begun is free before the client
// learns of that.
func (a *answer) prepared(begun bool) (cancelled bool) {
	if !begun {
		a.freeID()
	}
	k := a.connection
	k.mu.Lock()
	defer k.mu.Unlock()
	a.begun = begun
	close(a.ready)
	return a.cancelled
}

// abandoned ends the preparation of an answer, ahead of the frames that wait for it. It is false
// where the answer is prepared.
func (a *answer) abandoned() bool {
	a.connection.mu.Lock()
	defer a.connection.mu.Unlock()
	if a.isReady() {
		return false
	}
	a.cancelled = true
	a.abandon()
	return true
}

func (a *answer) isReady() bool {
	select {
	case <-a.ready:
		return true
	default:
		return false
	}
}

// rescue turns a panic, which is a fault of ours, into an error and a logged stack.
func (k *connection) rescue(act func() error) error {
	err := panics.Try(act)
	var p *panics.Error
	if errors.As(err, &p) {
		k.api.Log.Error("acting on a frame panicked", slog.Any("panic", p.Value), slog.String("stack", string(p.Stack)))
		return &refusal.Error{Kind: refusal.KindInternal, Code: "internal_error", Message: "internal error; the log has it"}
	}
	return err
}

// isGone reports whether a preparation ended because nobody wants the answer.
func isGone(err error) bool {
	return errors.Is(err, refusal.ErrGone) || errors.Is(err, context.Canceled)
}

func unknownID(id string) error {
	return &refusal.Error{Kind: refusal.KindNotFound, Code: "unknown_id", Field: "id",
		Message: fmt.Sprintf("no answer with id %q is going on", id)}
}
