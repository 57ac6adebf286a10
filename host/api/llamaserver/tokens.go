// SPDX-License-Identifier: MIT

package llamaserver

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/openai"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
)

type tokenizeBody struct {
	Content      *string `json:"content"`
	AddSpecial   bool    `json:"add_special"`
	ParseSpecial bool    `json:"parse_special"`
	WithPieces   bool    `json:"with_pieces"`
}

// tokenize is llama-server's POST /tokenize.
func (a API) tokenize(c echo.Context) error {
	body := tokenizeBody{ParseSpecial: true}
	if err := wire.ReadJSON(c, &body); err != nil {
		return err
	}
	if body.Content == nil {
		return completion.Invalid("content", "content is missing")
	}
	m, release, err := a.use(c)
	if err != nil {
		return err
	}
	defer release()
	tokens, err := completion.Work(c.Request().Context(), a.Service, len(*body.Content), func() ([]int32, error) {
		return m.Encoder().Tokenize(*body.Content, body.AddSpecial, body.ParseSpecial)
	})
	if err != nil {
		return completion.TextError(err, "content")
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
		pieces[i] = tokenPiece{ID: t, Piece: pieceOf(m.Engine.Piece(t))}
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

type detokenizeBody struct {
	Tokens []json.RawMessage `json:"tokens"`
}

// detokenize is llama-server's POST /detokenize.
func (a API) detokenize(c echo.Context) error {
	var body detokenizeBody
	if err := wire.ReadJSON(c, &body); err != nil {
		return err
	}
	if i := slices.IndexFunc(body.Tokens, func(r json.RawMessage) bool { return !completion.IsNumber(r) }); i >= 0 {
		return completion.Invalid("tokens["+strconv.Itoa(i)+"]", "tokens[%d] is not a token", i)
	}
	m, release, err := a.use(c)
	if err != nil {
		return err
	}
	defer release()
	text, err := completion.Work(c.Request().Context(), a.Service, 4*len(body.Tokens), func() (string, error) {
		tokens, err := m.MixedPrompt(body.Tokens, "tokens")
		if err != nil {
			return "", err
		}
		return m.Engine.Detokenize(tokens)
	})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"content": text})
}

// applyTemplate is llama-server's POST /apply-template: the prompt that the body of a chat completion becomes.
func (a API) applyTemplate(c echo.Context) error {
	body, err := wire.Read(c)
	if err != nil {
		return err
	}
	r, _, err := openai.ParseChat(c.Request().Context(), a.Service, wire.CallerOf(c), body)
	if err != nil {
		return err
	}
	defer r.Release()
	return c.JSON(http.StatusOK, map[string]any{"prompt": r.Rendered.Text})
}
