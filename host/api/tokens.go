// SPDX-License-Identifier: MIT

package api

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"
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
		return Invalid("content", "content is missing")
	}
	tokens, err := inPool(c.Request().Context(), s.textPool, time.Time{}, len(*body.Content), func() ([]int32, error) {
		return s.encoder().Tokenize(*body.Content, body.AddSpecial, body.ParseSpecial)
	}, nil)
	if err != nil {
		return textError(err, "content")
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

// pieceOf writes a piece as text, or as a list of bytes if it is only a part of a character.
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
		return Invalid("tokens["+itoa(i)+"]", "tokens[%d] is not a token", i)
	}
	text, err := inPool(c.Request().Context(), s.textPool, time.Time{}, 4*len(body.Tokens), func() (string, error) {
		tokens, err := s.mixedPrompt(body.Tokens, "tokens")
		if err != nil {
			return "", err
		}
		return s.Engine.Detokenize(tokens)
	}, nil)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"content": text})
}

// applyTemplate is llama-server's POST /apply-template: the prompt that the body of a chat completion becomes.
func (s *service) applyTemplate(c echo.Context) error {
	g, err := s.readChat(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"prompt": g.promptText})
}
