// SPDX-License-Identifier: MIT

package socket

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/integer"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

// actOn acts on a frame whose turn it is.
func (a *answer) actOn(f clientFrame) {
	k := a.connection
	err := a.goesOn()
	if err == nil {
		err = k.rescue(func() error { return a.steer(f) })
	}
	k.conclude(f, err)
}

// steer acts on a frame for a running answer.
func (a *answer) steer(f clientFrame) error {
	if f.Type == "cancel" {
		a.stream.Cancel()
		return nil
	}
	if a.kept != nil {
		return steerError(f.Type, scheduler.ErrEnded)
	}
	if err := a.control(f); err != nil {
		return steerError(f.Type, err)
	}
	switch f.Type {
	case "pause":
		a.tellState("paused")
	case "resume":
		a.tellState("resumed")
	}
	return nil
}

// tellState tells the client that the answer is paused or resumed, and notes it for a client that
// comes back. If another connection has taken the answer over meanwhile, that one is told. Of an
// answer that has ended nothing is told: another may have its id.
func (a *answer) tellState(state string) {
	if a.detachable != nil {
		a = a.detachable.note(state == "paused")
	}
	a.telling.Lock()
	defer a.telling.Unlock()
	switch {
	case !a.ended:
		a.connection.send(a.reading, stateFrame{Type: state, ID: a.id})
	case a.detachable != nil:
		a.detachable.paused.Store(false)
	}
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
	case verb == "set" && errors.Is(err, chain.ErrNotAllowed):
		return &refusal.Error{Kind: refusal.KindImpossible, Code: "unsatisfiable", Field: steerFields[verb],
			Message: "the answer so far does not fit: " + err.Error()}
	}
	return err
}

func (a *answer) control(f clientFrame) error {
	if f.Type == "set" {
		return a.set(f.Sampling)
	}
	ctx := a.connection.ctx
	switch f.Type {
	case "pause":
		return a.stream.Pause(ctx)
	case "resume":
		return a.stream.Resume(ctx)
	case "rewind":
		if f.Tokens == nil {
			return refusal.Invalid("tokens", "tokens is missing: how many to take back")
		}
		return a.stream.Rewind(ctx, *f.Tokens)
	}
	if f.Text == nil || *f.Text == "" {
		return refusal.Invalid("text", "text is missing: what to inject")
	}
	m := a.choice.Request.Model
	tokens, err := completion.Work(ctx, a.connection.api.Service, a.choice.Request.Caller, len(*f.Text), func(ctx context.Context) ([]int32, error) {
		return m.Encoder().Plain(ctx, *f.Text)
	})
	if err != nil {
		return completion.TextError(err, "text")
	}
	return a.stream.Inject(ctx, tokens)
}

// set changes sampling parameters; those that the frame leaves out stay as they are.
func (a *answer) set(raw json.RawMessage) error {
	if !completion.IsSet(raw) {
		return refusal.Invalid("sampling", "sampling is missing: an object of parameters")
	}
	defer a.own()()
	r := a.choice.Request
	fields := sampling.FieldsOf(r.Params)
	if err := readSampling(raw, &fields); err != nil {
		return err
	}
	params, stages, err := a.connection.api.Renew(a.connection.ctx, r, fields, len(raw))
	if err != nil {
		return err
	}
	if err := a.stream.SetChain(a.connection.ctx, stages); err != nil {
		return err
	}
	r.Params = params
	return nil
}

// own keeps the answer's request to the caller until what it returns is called: while another
// connection takes the answer over, this one may still be steering it.
func (a *answer) own() (disown func()) {
	if a.detachable == nil {
		return func() {}
	}
	a.detachable.steering.Lock()
	return a.detachable.steering.Unlock
}

// readSampling reads sampling parameters over others. Unlike the body of a request, the object has
// only sampling parameters, so an unknown name in it is refused.
func readSampling(raw json.RawMessage, fields *sampling.ParamFields) error {
	if err := wire.Decode(raw, fields); err != nil {
		return err
	}
	if err := integer.UnmarshalKnown(raw, &sampling.ParamFields{}); err != nil {
		return refusal.Invalid("sampling", "sampling has a field that is no sampling parameter: %v", err)
	}
	return nil
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
		if err := a.goesOn(); err != nil {
			return err
		}
		if a.kept != nil {
			return steerError(f.Type, scheduler.ErrEnded)
		}
		r, err := k.forked(ctx, a, f.Sampling)
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

// forked is the request for an answer that goes on where another is, with its sampling parameters,
// of which some may be changed.
func (k *connection) forked(ctx context.Context, a *answer, change json.RawMessage) (*completion.Prompted, error) {
	defer a.own()()
	return k.api.Fork(ctx, a.choice.Request, a.stream, func(fields *sampling.ParamFields) error {
		if !completion.IsSet(change) {
			return nil
		}
		return readSampling(change, fields)
	})
}
