// SPDX-License-Identifier: MIT

package llamaserver

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/openai"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/media"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
)

type tokenizeBody struct {
	Model        string          `json:"model"`
	Content      json.RawMessage `json:"content"`
	AddSpecial   bool            `json:"add_special"`
	ParseSpecial bool            `json:"parse_special"`
	WithPieces   bool            `json:"with_pieces"`
}

// tokenize is POST /tokenize. A body without content has no tokens.
func (a API) tokenize(c echo.Context) error {
	body := tokenizeBody{ParseSpecial: true}
	if err := wire.ReadJSON(c, &body); err != nil {
		return err
	}
	m, release, err := a.findModel(c, body.Model)
	if err != nil {
		return err
	}
	defer release()
	tokens, err := completion.Work(c.Request().Context(), a.Service, wire.CallerOf(c), len(body.Content), func(ctx context.Context) ([]scheduler.Token, error) {
		return body.tokens(ctx, m)
	})
	if err != nil {
		return err
	}
	list := wire.JSONList(tokens, func(_ int, t scheduler.Token, yield func(any) bool) bool {
		if body.WithPieces {
			return yield(tokenPiece{ID: t, Piece: pieceOf(m.Engine.Piece(t))})
		}
		return yield(wire.Text(strconv.Itoa(int(t))))
	})
	return wire.JSONParts(c, namedPart("tokens", list))
}

// namedPart gives the parts of a JSON object with one field.
func namedPart(name string, value iter.Seq[any]) iter.Seq[any] {
	return func(yield func(any) bool) {
		if !yield(wire.Text(`{"` + name + `":`)) {
			return
		}
		for part := range value {
			if !yield(part) {
				return
			}
		}
		yield(wire.Text("}"))
	}
}

// tokenPiece is a token with its text.
type tokenPiece struct {
	ID    scheduler.Token `json:"id"`
	Piece any             `json:"piece"` // text, or a list of bytes
}

func piecesOf(m *serving.Model, tokens []scheduler.Token) []tokenPiece {
	pieces := make([]tokenPiece, len(tokens))
	for i, t := range tokens {
		pieces[i] = tokenPiece{ID: t, Piece: pieceOf(m.Engine.Piece(t))}
	}
	return pieces
}

// tokens reads the content: a text, or a list of tokens and texts, of which the first gets the
// model's special tokens.
func (b *tokenizeBody) tokens(ctx context.Context, m *serving.Model) (tokens []scheduler.Token, err error) {
	items, isList := list(b.Content)
	if !isList && len(b.Content) > 0 {
		items = []json.RawMessage{b.Content}
	}
	for i, item := range items {
		field := "content"
		if isList {
			field += "[" + strconv.Itoa(i) + "]"
		}
		var text string
		if json.Unmarshal(item, &text) == nil && item[0] == '"' {
			more, err := m.Encoder().Tokenize(ctx, text, b.AddSpecial && i == 0, b.ParseSpecial)
			if err != nil {
				return nil, completion.TextError(err, field)
			}
			tokens = append(tokens, more...)
			continue
		}
		token, ok := completion.ReadToken(item, m.Vocabulary.Size)
		if !isList || !ok {
			return nil, refusal.Invalid(field, "%s must be a text, or in a list a token from 0 to %d", field, m.Vocabulary.Size-1)
		}
		tokens = append(tokens, token)
	}
	return tokens, nil
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
	Model  string            `json:"model"`
	Tokens []json.RawMessage `json:"tokens"`
}

// detokenize is POST /detokenize. A body without tokens has no text.
func (a API) detokenize(c echo.Context) error {
	var body detokenizeBody
	if err := wire.ReadJSON(c, &body); err != nil {
		return err
	}
	if i := slices.IndexFunc(body.Tokens, func(r json.RawMessage) bool { return !completion.IsNumber(r) }); i >= 0 {
		return refusal.Invalid("tokens["+strconv.Itoa(i)+"]", "tokens[%d] is not a token", i)
	}
	m, release, err := a.findModel(c, body.Model)
	if err != nil {
		return err
	}
	defer release()
	tokens, err := completion.Work(c.Request().Context(), a.Service, wire.CallerOf(c), 4*len(body.Tokens), func(ctx context.Context) ([]scheduler.Token, error) {
		return completion.MixedPrompt(ctx, m, body.Tokens, "tokens")
	})
	if err != nil {
		return err
	}
	return wire.JSONParts(c, namedPart("content", pieces(m, tokens)))
}

// applyTemplateBody is POST /apply-template.
type applyTemplateBody struct {
	openai.ChatBody
	ReturnTokens bool `json:"return_tokens"`
}

// promptToken is a token of a prompt. For a picture or a sound there is one with the id -1 and the
// marker, however many it takes.
type promptToken struct {
	tokenPiece
	Special bool `json:"special"` // a control token: its piece is a name, and no text
}

// applyTemplate is POST /apply-template: the prompt that the body of a chat completion becomes,
// and its tokens if asked for.
func (a API) applyTemplate(c echo.Context) error {
	body := applyTemplateBody{ChatBody: openai.ChatBody{AnswerFields: openai.Defaults()}}
	r, err := a.ReadPrompt(c, &body, body.Asked)
	if err != nil {
		return err
	}
	defer r.Release()
	wire.Warn(c, r.LeftOut(), nil)
	if !body.ReturnTokens {
		return c.JSON(http.StatusOK, map[string]any{"prompt": r.Rendered.Text})
	}
	tokens := make([]promptToken, len(r.Rendered.Tokens))
	for i, p := range piecesOf(r.Model, r.Rendered.Tokens) {
		if p.ID < 0 {
			p.Piece = media.Marker
		}
		tokens[i] = promptToken{p, p.Piece != "" && r.Model.Engine.Shown(p.ID) == ""}
	}
	return c.JSON(http.StatusOK, map[string]any{"prompt": r.Rendered.Text, "tokens": tokens})
}

// list reads a JSON list.
func list(raw json.RawMessage) (items []json.RawMessage, ok bool) {
	raw = bytes.TrimSpace(raw)
	return items, len(raw) > 0 && raw[0] == '[' && json.Unmarshal(raw, &items) == nil
}

// partOfText is about how many bytes of a text are written at once.
const partOfText = 16 << 10

// pieces gives the parts of a JSON text that joins those of tokens, with the names of control
// tokens. A piece may have many times the bytes of its token's number. Bytes that are no character
// become a replacement character, one for the beginning of a character, as in llama-server's JSON.
func pieces(m *serving.Model, tokens []scheduler.Token) iter.Seq[any] {
	return func(yield func(any) bool) {
		if !yield(wire.Text(`"`)) {
			return
		}
		var text []byte
		for i, t := range tokens {
			text = append(text, m.Engine.Piece(t)...)
			last := i == len(tokens)-1
			if len(text) < partOfText && !last {
				continue
			}
			valid, rest := wholeCharacters(text, last)
			written, err := json.Marshal(valid)
			if err != nil {
				return // a text has a form in JSON
			}
			if !yield(wire.Text(written[1 : len(written)-1])) {
				return
			}
			text = append(text[:0], rest...)
		}
		yield(wire.Text(`"`))
	}
}

// wholeCharacters takes the characters off a text's beginning, and unless it is the last of it
// leaves what may be the beginning of one.
func wholeCharacters(text []byte, last bool) (valid string, rest []byte) {
	var out strings.Builder
	for len(text) > 0 && (last || utf8.FullRune(text)) {
		r, n := utf8.DecodeRune(text)
		if r == utf8.RuneError && n == 1 {
			for n < min(utf8.UTFMax-1, len(text)) && !utf8.FullRune(text[:n+1]) {
				n++
			}
		}
		out.WriteRune(r)
		text = text[n:]
	}
	return out.String(), text
}
