// SPDX-License-Identifier: MIT

package api

import (
	"encoding/json"
	"net/http"
	"slices"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
)

// tokenize is llama-server's POST /tokenize.
func (s *service) tokenize(c echo.Context) error {
	body := struct {
		Content      *string `json:"content"`
		AddSpecial   bool    `json:"add_special"`
		ParseSpecial bool    `json:"parse_special"`
		WithPieces   bool    `json:"with_pieces"`
	}{ParseSpecial: true}
	if err := readJSON(c, &body); err != nil {
		return err
	}
	if body.Content == nil {
		return invalid("content", "content is missing")
	}
	tokens, err := s.Engine.Tokenize(*body.Content, body.AddSpecial, body.ParseSpecial)
	if err != nil {
		return err
	}
	if !body.WithPieces {
		return c.JSON(http.StatusOK, map[string]any{"tokens": append([]int32{}, tokens...)})
	}
	type tokenPiece struct {
		ID    int32 `json:"id"`
		Piece any   `json:"piece"`
	}
	pieces := make([]tokenPiece, len(tokens))
	for i, t := range tokens {
		pieces[i] = tokenPiece{ID: t, Piece: pieceOf(s.Engine.Piece(t))}
	}
	return c.JSON(http.StatusOK, map[string]any{"tokens": pieces})
}

// pieceOf writes a piece as text, or as a list of bytes where it is only a part of a character.
func pieceOf(piece string) any {
	if utf8.ValidString(piece) {
		return piece
	}
	bytes := make([]int, len(piece))
	for i := range len(piece) {
		bytes[i] = int(piece[i])
	}
	return bytes
}

// detokenize is llama-server's POST /detokenize.
func (s *service) detokenize(c echo.Context) error {
	var body struct {
		Tokens []json.RawMessage `json:"tokens"`
	}
	if err := readJSON(c, &body); err != nil {
		return err
	}
	if i := slices.IndexFunc(body.Tokens, func(r json.RawMessage) bool { return !isNumber(r) }); i >= 0 {
		return invalid("tokens["+itoa(i)+"]", "tokens[%d] is not a token", i)
	}
	tokens, err := s.mixedPrompt(body.Tokens, "tokens")
	if err != nil {
		return err
	}
	text, err := s.Engine.Detokenize(tokens)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"content": text})
}

// applyTemplate is llama-server's POST /apply-template: the prompt a conversation becomes.
func (s *service) applyTemplate(c echo.Context) error {
	var body struct{ Conversation }
	if err := readJSON(c, &body); err != nil {
		return err
	}
	prompt, _, err := s.encode(&body.Conversation)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"prompt": prompt.Text})
}
