// SPDX-License-Identifier: MIT

package engine

import (
	"errors"
	"fmt"

	"github.com/penstock/penstock/native"
)

// OpenProjector loads the projector file at path for the model. The digest is the same for
// projectors that compute the same, in any process. Errors are those of native.OpenProjector, and
// ErrRemote where other machines compute the model.
func (e *Engine) OpenProjector(path string, o native.ProjectorOptions) (p *native.Projector, digest string, err error) {
	if e.weights != e.model {
		return nil, "", ErrRemote
	}
	file, err := digestOf(path)
	if err != nil {
		return nil, "", err
	}
	if p, err = native.OpenProjector(e.model, path, o); err != nil {
		return nil, "", err
	}
	if have, want := p.Info().Whole, e.backend.context.Limits(); have > want.Batch || have > want.UBatch {
		return nil, "", errors.Join(fmt.Errorf("%w: the projector makes up to %d embeddings that one pass computes, and passes have %d tokens; use --batch-size and --ubatch-size of %d",
			native.ErrInvalid, have, min(want.Batch, want.UBatch), have), p.Close())
	}
	return p, fmt.Sprintf("%s %d-%d", file, o.ImageMinTokens, o.ImageMaxTokens), nil
}
