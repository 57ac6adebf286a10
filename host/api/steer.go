// SPDX-License-Identifier: MIT

package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

// Controls steer a running answer. A Stream may have them.
type Controls interface {
	Pause(ctx context.Context) error
	Resume(ctx context.Context) error
	Inject(ctx context.Context, tokens []scheduler.Token) error
	Rewind(ctx context.Context, n int) error
}

// ChainSetter exchanges the sampler chain of a running answer. A Stream may be one.
type ChainSetter interface {
	SetChain(ctx context.Context, chain []chain.Stage) error
}

// steer acts on a frame for a running answer.
func (a *socketAnswer) steer(f clientFrame) error {
	if f.Type == "cancel" {
		a.stream.Cancel()
		return nil
	}
	err := a.control(f)
	switch {
	case errors.Is(err, scheduler.ErrEnded):
		return &Error{Status: http.StatusConflict, Code: "ended", Type: TypeInvalid, Param: "id", Message: "the answer has ended"}
	case errors.Is(err, scheduler.ErrBadRequest):
		return Invalid(f.Type, "%v", err)
	}
	return err
}

func (a *socketAnswer) control(f clientFrame) error {
	if f.Type == "set" {
		return a.set(f.Sampling)
	}
	c, ok := a.stream.(Controls)
	if !ok {
		return unsupported("type", "%s is not supported by this server", f.Type)
	}
	ctx := a.socket.ctx
	switch f.Type {
	case "pause":
		return c.Pause(ctx)
	case "resume":
		return c.Resume(ctx)
	case "rewind":
		if f.Tokens == nil {
			return Invalid("tokens", "tokens is missing: how many to take back")
		}
		return c.Rewind(ctx, *f.Tokens)
	}
	if f.Text == nil || *f.Text == "" {
		return Invalid("text", "text is missing: what to inject")
	}
	s := a.socket.service
	tokens, err := inPool(ctx, s.textPool, time.Time{}, len(*f.Text), func() ([]int32, error) { return s.encoder().Plain(*f.Text) }, nil)
	if err != nil {
		return textError(err, "text")
	}
	return c.Inject(ctx, tokens)
}

// set changes sampling parameters; those that the frame leaves out stay as they are. Unlike the body of a request, the object has only
// sampling parameters, so an unknown name in it is refused.
func (a *socketAnswer) set(raw json.RawMessage) error {
	c, ok := a.stream.(ChainSetter)
	if !ok {
		return unsupported("type", "set is not supported by this server")
	}
	if !isSet(raw) {
		return Invalid("sampling", "sampling is missing: an object of parameters")
	}
	fields := sampling.FieldsOf(a.params)
	if err := decode(raw, &fields); err != nil {
		return err
	}
	strict := json.NewDecoder(bytes.NewReader(raw))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&sampling.Fields{}); err != nil {
		return Invalid("sampling", "sampling has a field that is no sampling parameter: %v", err)
	}
	s := a.socket.service
	var params sampling.Params
	made, err := inPool(a.socket.ctx, s.textPool, time.Time{}, len(raw), func() (made Policy, err error) {
		if params, err = fields.Params(a.params, vocabulary{s}); err != nil {
			return made, err
		}
		made.Stages, err = s.Engine.NewChain(params)
		return made, chainError(err, params)
	}, Policy.discard)
	if err != nil {
		return err
	}
	if err := c.SetChain(a.socket.ctx, made.Stages); err != nil {
		return err
	}
	a.params = params
	return nil
}
