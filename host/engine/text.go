// SPDX-License-Identifier: MIT

package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/plugins/abi"
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

// Vocabulary is the vocabulary as plugins see it: a token is the text it shows, so control tokens
// have none.
type Vocabulary struct{ engine *Engine }

// Vocabulary returns the model's vocabulary for plugins.
func (e *Engine) Vocabulary() Vocabulary { return Vocabulary{e} }

// Size is the number of tokens.
func (v Vocabulary) Size() int { return v.engine.info.Vocabulary }

// Piece is the bytes that a token shows.
func (v Vocabulary) Piece(token int32) string { return v.engine.model.Piece(token) }

// attributes are the plugin ABI's names of llama.cpp's attributes.
var attributes = []struct {
	native native.Attribute
	abi    uint32
}{
	{native.AttributeControl, abi.AttrControl}, {native.AttributeEndOfGeneration, abi.AttrEnd},
	{native.AttributeByte, abi.AttrByte}, {native.AttributeUnused, abi.AttrUnused},
}

// Attributes are the ABI's attribute bits of a token.
func (v Vocabulary) Attributes(token int32) (bits uint32) {
	have := v.engine.model.Attributes(token)
	for _, a := range attributes {
		if have&a.native != 0 {
			bits |= a.abi
		}
	}
	return bits
}

// Special is the token of an ABI kind, or -1.
func (v Vocabulary) Special(kind int32) int32 {
	special := v.engine.info.Special
	switch kind {
	case abi.SpecialBOS:
		return special.BOS
	case abi.SpecialEOS:
		return special.EOS
	case abi.SpecialEOT:
		return special.EOT
	case abi.SpecialNewline:
		return special.Newline
	}
	return -1
}

// Tokenize turns text into tokens.
func (v Vocabulary) Tokenize(text string, addSpecial, parseSpecial bool) ([]int32, error) {
	return v.engine.Tokenize(context.Background(), text, addSpecial, parseSpecial)
}
