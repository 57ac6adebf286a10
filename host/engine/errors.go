// SPDX-License-Identifier: MIT

package engine

import (
	"errors"
	"fmt"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/native"
)

// ErrNotGenerating refuses models that do not write token by token: encoders, embedding and diffusion models.
var ErrNotGenerating = errors.New("it does not generate text token by token (an encoder, embedding or diffusion model); " +
	"choose a model that chats or completes")

// invalid says in the terms of package sampling that llama.cpp finds a parameter or a text at fault.
func invalid(err error) error {
	if errors.Is(err, native.ErrInvalid) {
		return fmt.Errorf("%w: %w", sampling.ErrInvalid, err)
	}
	return err
}
