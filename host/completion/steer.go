// SPDX-License-Identifier: MIT

package completion

import (
	"context"
	"slices"
	"time"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler/chain"
)

// NewChain builds a native sampler chain for a running answer whose parameters are replaced by fields, which were read over now. Who
// gets it has to close it.
func (s *Service) NewChain(ctx context.Context, m *Model, fields sampling.Fields, now sampling.Params, size int) (params sampling.Params, _ []chain.Stage, err error) {
	made, err := inPool(ctx, s.pool, time.Time{}, size, func() (made Policy, err error) {
		if params, err = fields.Params(now, tokens{m}); err != nil {
			return made, err
		}
		if !slices.Equal(params.PreservedTokens, now.PreservedTokens) {
			return made, Unsupported("preserved_tokens", "preserved_tokens stay as they are while an answer is written")
		}
		made.Stages, err = m.Engine.NewChain(params)
		return made, chainError(err, params)
	}, Policy.discard)
	if err != nil {
		return now, nil, err // params may still be written to
	}
	return params, made.Stages, nil
}
