// SPDX-License-Identifier: MIT

package completion

import (
	"context"

	"github.com/penstock/penstock/host/serving"
)

// tokens shows a model's tokens to package sampling.
type tokens struct {
	ctx context.Context
	*serving.Model
}

func (t tokens) Size() int { return t.Vocabulary }
func (t tokens) Tokenize(text string) ([]int32, error) {
	tokens, err := t.Encoder().Plain(t.ctx, text)
	return tokens, TextError(err, "logit_bias")
}
