// SPDX-License-Identifier: MIT

package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/penstock/penstock/native"
)

// Tokenize turns text into tokens. addSpecial adds the begin and end tokens the model wants,
// parseSpecial makes the text of control tokens those tokens. A text that the model refuses is a
// chat.ErrInvalidText.
func (e *Engine) Tokenize(ctx context.Context, text string, addSpecial, parseSpecial bool) ([]int32, error) {
	return tokenize(ctx, e.model, text, addSpecial, parseSpecial)
}

func tokenize(ctx context.Context, m *native.Model, text string, addSpecial, parseSpecial bool) ([]int32, error) {
	tokens, err := m.Tokenize(ctx, text, native.TokenizeOptions{AddSpecial: addSpecial, ParseSpecial: parseSpecial})
	if errors.Is(err, native.ErrInvalid) {
		err = invalidText{err}
	}
	return tokens, err
}

// Detokenize turns tokens into text, control tokens included. Pictures and sounds have none.
func (e *Engine) Detokenize(tokens []int32) (string, error) {
	tokens, _ = spoken(tokens, 0)
	return e.model.Detokenize(tokens, native.DetokenizeOptions{UnparseSpecial: true})
}

// Piece is the bytes of one token; those of a control token are its name, see Vocabulary.Piece.
func (e *Engine) Piece(token int32) string { return e.model.SpecialPiece(token) }

// Shown is the bytes that a token adds to an answer; a control token adds none.
func (e *Engine) Shown(token int32) string { return e.model.Piece(token) }

// Ends are the tokens that end an answer, in order.
func (e *Engine) Ends() []int32 { return slices.Clone(e.backend.ends) }
