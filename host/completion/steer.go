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
func (s *Service) Renew(ctx context.Context, r *TextRequest, fields sampling.ParamFields, size int) (params sampling.Params, _ []chain.Stage, err error) {
	made, err := inPool(ctx, s.pool, r.Caller, time.Time{}, size, func(ctx context.Context) (made serving.Policy, err error) {
		if params, err = fields.Params(r.Params, tokens{ctx, r.Model}); err != nil {
			return made, err
		}
		if !slices.Equal(params.PreservedTokens, r.Params.PreservedTokens) {
			return made, refusal.Unsupported("preserved_tokens", "preserved_tokens stay as they are while an answer is written")
		}
		if params.Constraint, err = r.Model.Engine.Prepare(ctx, params); err != nil {
			return made, chainError(err, params)
		}
		renew := r.renew
		if renew == nil {
			renew = r.Model.Engine.NewChain
		}
		made.Stages, err = renew(params)
		return made, chainError(err, params)
	}, discardPolicy)
	if err != nil {
		return r.Params, nil, err // params may still be written to
	}
	return params, made.Stages, nil
}
