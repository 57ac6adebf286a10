// SPDX-License-Identifier: MIT

package engine

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/native"
)

var _ chat.Renderer = (*Engine)(nil)

// Tokenize turns text into tokens. addSpecial adds the begin and end tokens the model wants, parseSpecial makes the text of
// control tokens those tokens. A text that the model refuses is a chat.ErrInvalidText.
func (e *Engine) Tokenize(text string, addSpecial, parseSpecial bool) ([]int32, error) {
	tokens, err := e.model.Tokenize(text, native.TokenizeOptions{AddSpecial: addSpecial, ParseSpecial: parseSpecial})
	if errors.Is(err, native.ErrInvalid) {
		err = invalidText{err}
	}
	return tokens, err
}

// Detokenize turns tokens into text, control tokens included.
func (e *Engine) Detokenize(tokens []int32) (string, error) {
	return e.model.Detokenize(tokens, native.DetokenizeOptions{UnparseSpecial: true})
}

// Piece is the bytes of one token; those of a control token are its name, see Vocabulary.Piece.
func (e *Engine) Piece(token int32) string { return e.model.SpecialPiece(token) }

// Render implements chat.Renderer.
func (e *Engine) Render(c chat.Conversation) (chat.Prompt, error) {
	messages, err := json.Marshal(c.Messages)
	if err != nil {
		return chat.Prompt{}, fmt.Errorf("render: %w", err)
	}
	p, err := e.template.Render(native.Conversation{Messages: messages, AddGenerationPrompt: true, TemplateArgs: c.TemplateArgs})
	if err != nil {
		return chat.Prompt{}, err
	}
	return chat.Prompt{Text: p.Text, Stops: p.Stops}, nil
}
