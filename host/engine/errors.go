// SPDX-License-Identifier: MIT

package engine

import (
	"errors"
	"fmt"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/native"
)

// ErrNotGenerating refuses models that do not write text token by token: encoders, embedding,
// diffusion and speech models.
var ErrNotGenerating = errors.New("it does not generate text token by token (an encoder, embedding, diffusion or speech model); " +
	"choose a model that chats or completes, or serve this one with --embeddings or --reranking")

// asInvalid marks an error that llama.cpp finds in a parameter as a sampling.ErrInvalid, which the
// API knows.
func asInvalid(err error) error {
	if errors.Is(err, native.ErrInvalid) {
		return fmt.Errorf("%w: %w", sampling.ErrInvalid, err)
	}
	return err
}

// invalidText is a chat.ErrInvalidText in llama.cpp's own words.
type invalidText struct{ error }

func (e invalidText) Is(target error) bool { return target == chat.ErrInvalidText }
func (e invalidText) Unwrap() error        { return e.error }
