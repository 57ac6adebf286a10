// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"slices"
	"time"

	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler/chain"
)

// Renew builds the sampler chain of a submitted request anew, whose parameters are replaced by
// fields, which were read over them. It changes nothing of the request. The caller has to close the
// stages.
func (s *Service) Renew(ctx context.Context, r *TextRequest, fields sampling.ParamFields, size int) (sampling.Params, []chain.Stage, error) {
	type renewed struct {
		params sampling.Params
		stages []chain.Stage
	}
	m, old, renew := r.Model, r.Params, r.renew
	if renew == nil {
		renew = m.Engine.NewChain
	}
	made, err := inPool(ctx, s.pool, r.Caller, time.Time{}, size, func(ctx context.Context) (made renewed, err error) {
		if made.params, err = fields.Params(old, tokens{ctx, m}); err != nil {
			return made, err
		}
		if !slices.Equal(made.params.PreservedTokens, old.PreservedTokens) {
			return made, refusal.Unsupported("preserved_tokens", "preserved_tokens stay as they are while an answer is written")
		}
		if made.params.Constraint, err = m.Engine.Prepare(ctx, made.params); err == nil {
			made.stages, err = renew(made.params)
			made.params.Constraint.Release()
		}
		return made, chainError(err, made.params)
	}, func(made renewed) { discardPolicy(serving.Policy{Stages: made.stages}) })
	return made.params, made.stages, err
}
