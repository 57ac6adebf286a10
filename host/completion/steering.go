// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"slices"
	"time"

	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

// Inject adds a text to a running answer.
func (s *Service) Inject(ctx context.Context, c *Choice, text string) error {
	r := c.Request
	tokens, err := Work(ctx, s, r.Caller, len(text), func(ctx context.Context) ([]int32, error) {
		return r.Model.Encoder().Plain(ctx, text)
	})
	if err != nil {
		return TextError(err, "text")
	}
	r.noteSteering("inject")
	return c.Stream.Inject(ctx, tokens)
}

// Rewind takes back the last n tokens of a running answer.
func (c *Choice) Rewind(ctx context.Context, n int) error {
	c.Request.noteSteering("rewind")
	return c.Stream.Rewind(ctx, n)
}

// Set has a running answer go on with sampling parameters as change changes them, which has size
// bytes.
func (s *Service) Set(ctx context.Context, c *Choice, size int, change func(*sampling.ParamFields) error) error {
	r := c.Request
	r.steering.Lock()
	defer r.steering.Unlock()
	fields := sampling.FieldsOf(r.Params)
	if err := change(&fields); err != nil {
		return err
	}
	params, stages, err := s.renewChain(ctx, r, fields, size)
	if err != nil {
		return err
	}
	r.noteSteering("set")
	if err := c.Stream.SetChain(ctx, stages); err != nil {
		return err
	}
	r.Params = params
	return nil
}

// Fork makes a request that continues from where a running answer of another is, with the same
// prompt, plugins and limits, and with its sampling parameters except the seed, which is random,
// and those that change changes, which has size bytes. The caller submits it, and releases it as
// any other.
func (s *Service) Fork(ctx context.Context, r *Submitted, st serving.Stream, size int, change func(*sampling.ParamFields) error) (*Prompted, error) {
	r.steering.Lock()
	defer r.steering.Unlock()
	fork := *r.Prompted
	fork.Size = max(r.Size, size)
	fork.times.came, fork.Params.Seed = time.Now(), sampling.RandomSeed()
	fork.Source, fork.PromptLogprobs = Texts{}, false // who reads the answer has what is told of its prompt
	fork.Media.begun = 0                              // the answer was charged for its pictures
	fields := sampling.FieldsOf(fork.Params)
	if err := change(&fields); err != nil {
		return nil, err
	}
	prompt, answered, err := st.Conversation(ctx)
	if err != nil {
		return nil, err
	}
	fork.Prompts, fork.begun, fork.forked = [][]scheduler.Token{prompt}, answered, r.adapters
	m, release, err := s.Models.Use(ctx, r.Model.Name)
	if err != nil {
		return nil, err
	}
	fork.Media.let, fork.held = func() {}, held{arrived: func() {}, back: []func(){release}}
	whole := false
	defer func() {
		if !whole {
			fork.held.release()
		}
	}()
	if m != r.Model { // it was unloaded, and loaded again: what the answer has of it is no longer useful
		return nil, scheduler.ErrEnded
	}
	if err := fork.beginRecording(); err != nil {
		return nil, err
	}
	if err := fork.beginReceipt(ctx); err != nil {
		return nil, err
	}
	made, err := withPermit(ctx, s.permits, r.Caller, time.Time{}, fork.Size, func(ctx context.Context) (*Prompted, error) {
		made := fork
		return &made, made.takeFields(ctx, fields)
	}, func(made *Prompted) { made.Plugins.Release() })
	whole = err == nil
	return made, err
}

// takeFields has a fork decide by these sampling parameters, with the plugins of the answer that
// it goes on from.
func (p *Prompted) takeFields(ctx context.Context, fields sampling.ParamFields) (err error) {
	if p.Params, err = fields.Params(p.Params, tokens{ctx, p.Model}); err != nil {
		return err
	}
	if err := p.findPreserved(ctx); err != nil {
		return err
	}
	p.Plugins, err = p.Plugins.Again(ctx, p.Caller.asker(), p.Params.Chain)
	return err
}

// renewChain builds the sampler chain of a submitted request with other parameters: fields, which
// were read over those that it has. It changes nothing of the request. The caller has to close the
// stages.
func (s *Service) renewChain(ctx context.Context, r *Submitted, fields sampling.ParamFields, size int) (sampling.Params, []chain.Stage, error) {
	type renewed struct {
		params sampling.Params
		stages []chain.Stage
	}
	m, old, renew := r.Model, r.Params, r.renew
	made, err := withPermit(ctx, s.permits, r.Caller, time.Time{}, size, func(ctx context.Context) (made renewed, err error) {
		if made.params, err = fields.Params(old, tokens{ctx, m}); err != nil {
			return made, err
		}
		if !slices.Equal(made.params.PreservedTokens, old.PreservedTokens) {
			return made, refusal.Unsupported("preserved_tokens", "preserved_tokens stay as they are while an answer is written")
		}
		if made.params.Constraint, err = m.Engine.Prepare(ctx, made.params); err != nil {
			return made, chainError(err, made.params)
		}
		defer made.params.Constraint.Release() // the stages use it by themselves
		made.stages, err = renew(made.params)
		return made, chainError(err, made.params)
	}, func(made renewed) { discardPolicy(serving.Policy{Stages: made.stages}) })
	return made.params, made.stages, err
}
