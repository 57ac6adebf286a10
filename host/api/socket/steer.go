// SPDX-License-Identifier: MIT

package socket

import (
	"context"
	"errors"
	"fmt"

	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

// actOn acts on a frame whose turn it is.
func (a *answer) actOn(f clientFrame) {
	k := a.connection
	err := unknownID(a.id())
	if a.reader.Log() != nil {
		err = k.rescue(func() error { return steerError(f.Type, a.steer(f)) })
	}
	k.conclude(f, err)
}

func unknownID(id string) error {
	return &refusal.Error{Kind: refusal.KindNotFound, Code: "unknown_id", Field: "id",
		Message: fmt.Sprintf("no answer with id %q is going on", id)}
}

// steer acts on a frame for an answer that was begun.
func (a *answer) steer(f clientFrame) error {
	l, ctx := a.reader.Log(), a.connection.ctx
	switch f.Type {
	case "cancel":
		l.Cancel()
		return nil
	case "pause", "resume":
		return l.Pause(ctx, f.Type == "pause")
	case "rewind":
		if f.Tokens == nil {
			return refusal.Invalid("tokens", "tokens is missing: how many to take back")
		}
		return l.Rewind(ctx, *f.Tokens)
	case "inject":
		if f.Text == nil || *f.Text == "" {
			return refusal.Invalid("text", "text is missing: what to inject")
		}
		return l.Inject(ctx, *f.Text)
	}
	if !completion.IsSet(f.Sampling) {
		return refusal.Invalid("sampling", "sampling is missing: an object of parameters")
	}
	return l.Set(ctx, f.Sampling)
}

// steerFields are the fields of frames that the scheduler or a sampler may refuse.
var steerFields = map[string]string{"inject": "text", "rewind": "tokens", "set": "sampling", "fork": "sampling"}

// steerError tells what it means for a client that an answer cannot be steered so.
func steerError(verb string, err error) error {
	switch {
	case errors.Is(err, scheduler.ErrEnded):
		return &refusal.Error{Kind: refusal.KindConflict, Code: "ended", Field: "id", Message: "the answer has ended"}
	case errors.Is(err, scheduler.ErrBadRequest):
		return refusal.Invalid(steerFields[verb], "%v", err)
	case verb == "inject" && errors.Is(err, chain.ErrNotAllowed):
		return &refusal.Error{Kind: refusal.KindImpossible, Code: "unsatisfiable", Field: steerFields[verb], Message: err.Error()}
	case verb == "set" && errors.Is(err, chain.ErrNotAllowed):
		return &refusal.Error{Kind: refusal.KindImpossible, Code: "unsatisfiable", Field: steerFields[verb],
			Message: "the answer so far does not fit: " + err.Error()}
	}
	return err
}

// fork starts an answer that goes on where a running one is, when the frames for that one before
// were acted on.
func (k *connection) fork(a *answer, f clientFrame) error {
	if f.As == "" || len(f.As) > maxID {
		return refusal.Invalid("as", "as must be a text of 1 to %d bytes: the id of the new answer", maxID)
	}
	turn, done := make(chan struct{}), make(chan struct{})
	if err := a.inTurn(func() { close(turn); <-done }); err != nil {
		return err
	}
	err := k.operate(f, "as", f.As, func(ctx context.Context, fork *answer) error {
		defer close(done)
		select {
		case <-turn:
		case <-ctx.Done():
			return refusal.ErrGone
		}
		l := a.reader.Log()
		if l == nil {
			return unknownID(a.id())
		}
		r, err := l.Fork(ctx, f.Sampling)
		if err != nil {
			return steerError(f.Type, err)
		}
		return fork.start(ctx, f, r)
	})
	if err != nil {
		close(done)
	}
	return err
}
