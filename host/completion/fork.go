// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"time"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
)

// Fork makes a request that continues from where a running answer of another is, with the same
// prompt, plugins and limits, and with its sampling parameters except the seed, which is random,
// and those that change changes. The caller submits it, and releases it as any other.
func (s *Service) Fork(ctx context.Context, r *TextRequest, st serving.Stream, change func(*sampling.ParamFields) error) (_ *TextRequest, err error) {
	fork := *r
	fork.asked, fork.Params.Seed = time.Now(), sampling.RandomSeed()
	fork.PromptLogprobs, fork.LeftOut, fork.Relaxed = false, nil, nil // who reads the answer has them
	fields := sampling.FieldsOf(fork.Params)
	if err := change(&fields); err != nil {
		return nil, err
	}
	prompt, answered, err := st.Conversation(ctx)
	if err != nil {
		return nil, err
	}
	fork.Prompts, fork.begun = [][]scheduler.Token{prompt}, answered
	if fork.Model, fork.release, err = s.Models.Use(ctx, r.Model.Name); err != nil {
		return nil, err
	}
	if fork.Model != r.Model { // it was unloaded, and loaded again: what the answer has of it is no longer useful
		fork.release()
		return nil, scheduler.ErrEnded
	}
	fork.recording, fork.letGo = nil, nil // they are the answer's
	if err := fork.record(); err != nil {
		fork.release()
		return nil, err
	}
	made, err := inPool(ctx, s.pool, r.Caller, time.Time{}, r.Size, func(ctx context.Context) (*TextRequest, error) {
		made := fork
		return &made, made.takeFields(ctx, fields)
	}, func(made *TextRequest) { made.Plugins.Release() })
	if err != nil {
		fork.release()
		return nil, err
	}
	return made, nil
}

// takeFields has a fork decide by these sampling parameters, with the plugins of the answer that
// it goes on from.
func (r *TextRequest) takeFields(ctx context.Context, fields sampling.ParamFields) (err error) {
	if r.Params, err = fields.Params(r.Params, tokens{ctx, r.Model}); err != nil {
		return err
	}
	if r.preserved, err = r.preservedTokens(); err != nil {
		return err
	}
	r.Plugins, err = r.Plugins.Again(r.Caller.ID, r.Params.Chain)
	return err
}
