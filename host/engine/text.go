// SPDX-License-Identifier: MIT

package engine

import (
	"encoding/json"
	"fmt"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/native"
)

var _ chat.Renderer = (*Engine)(nil)

// Tokenize turns text into tokens. addSpecial adds the begin and end tokens the model wants, parseSpecial makes the text of
// control tokens those tokens.
func (e *Engine) Tokenize(text string, addSpecial, parseSpecial bool) ([]int32, error) {
	tokens, err := e.model.Tokenize(text, native.TokenizeOptions{AddSpecial: addSpecial, ParseSpecial: parseSpecial})
	return tokens, invalid(err)
}

// Detokenize turns tokens into text, control tokens included.
func (e *Engine) Detokenize(tokens []int32) (string, error) {
	return e.model.Detokenize(tokens, native.DetokenizeOptions{UnparseSpecial: true})
}

// Piece returns the bytes of one token; with special, also those of a control token.
func (e *Engine) Piece(token int32, special bool) string {
	if special {
		return e.model.SpecialPiece(token)
	}
	return e.model.Piece(token)
}

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
