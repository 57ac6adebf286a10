// SPDX-License-Identifier: MIT

package llamaserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	"github.com/penstock/penstock/host/vectors"
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

// embeddingBody is POST /embedding.
type embeddingBody struct {
	Model     string          `json:"model"`
	Input     json.RawMessage `json:"input"`
	Content   json.RawMessage `json:"content"` // an older name of input
	Format    *string         `json:"encoding_format"`
	Normalize *int            `json:"embd_normalize"`
	TimeoutMS *int64          `json:"timeout_ms"` // ours
}

func (a API) embedding(c echo.Context) error {
	var b embeddingBody
	if err := wire.ReadJSON(c, &b); err != nil {
		return err
	}
	r := vectors.EmbeddingRequest{Caller: wire.CallerOf(c), ModelName: b.Model, Input: b.Input, Field: "input", Normalize: b.Normalize, TimeoutMS: b.TimeoutMS}
	switch {
	case b.Input == nil && b.Content == nil:
		return refusal.Invalid("input", `"input" or "content" must be provided`)
	case b.Input == nil:
		r.Input, r.Field = b.Content, "content"
	}
	if b.Format != nil && *b.Format != "float" && *b.Format != "base64" { // base64 changes nothing here, as with llama-server
		return refusal.Invalid("encoding_format", "The format to return the embeddings in. Can be either float or base64")
	}
	answer, err := vectors.Embed(c.Request().Context(), a.Service, r)
	if err != nil {
		return err
	}
	defer answer.Release()
	return wire.JSONParts(c, wire.JSONList(answer.Vectors, embeddingEntry))
}

// embeddingEntry is the answer for one text: one vector, or one for each token.
func embeddingEntry(i int, of [][]float32, yield func(any) bool) bool {
	if !yield(wire.Text(`{"index":` + strconv.Itoa(i) + `,"embedding":[`)) {
		return false
	}
	for j, v := range of {
		if j > 0 && !yield(wire.Text(",")) || !yield(v) {
			return false
		}
	}
	return yield(wire.Text("]}"))
}

// rerankBody is POST /rerank: Jina's and Cohere's API, or with texts that of Hugging Face's
// text-embeddings-inference (TEI).
type rerankBody struct {
	Model           string            `json:"model"`
	Query           json.RawMessage   `json:"query"`
	Documents       []json.RawMessage `json:"documents"` // texts, or objects with a text
	Texts           []json.RawMessage `json:"texts"`     // TEI's
	Top             *int              `json:"top_n"`
	ReturnDocuments bool              `json:"return_documents"`
	ReturnText      bool              `json:"return_text"` // TEI's
	TimeoutMS       *int64            `json:"timeout_ms"`  // ours
}

// rank is one document's place.
type rank struct {
	Index     int           `json:"index"`
	Relevance *float32      `json:"relevance_score,omitempty"`
	Score     *float32      `json:"score,omitempty"` // TEI's name
	Text      *string       `json:"text,omitempty"`
	Document  *rankDocument `json:"document,omitempty"`
}

type rankDocument struct {
	Text string `json:"text"`
}

// ranking is the answer to Jina's request; TEI's has the results alone.
type ranking struct {
	Model   string                `json:"model"`
	Object  string                `json:"object"`
	Usage   openai.EmbeddingUsage `json:"usage"`
	Results []rank                `json:"results"`
}

func (a API) rerank(c echo.Context) error {
	var b rerankBody
	if err := wire.ReadJSON(c, &b); err != nil {
		return err
	}
	query, documents, err := b.read()
	if err != nil {
		return err
	}
	answer, err := vectors.Rank(c.Request().Context(), a.Service, vectors.RankRequest{Caller: wire.CallerOf(c), ModelName: b.Model, Query: query, Documents: documents, TimeoutMS: b.TimeoutMS})
	if err != nil {
		return err
	}
	results := b.results(answer.Scores, documents)
	if b.Texts != nil {
		return c.JSON(http.StatusOK, results)
	}
	return c.JSON(http.StatusOK, ranking{
		Model: answer.Model, Object: "list", Usage: openai.EmbeddingUsage{Prompt: answer.Tokens, Total: answer.Tokens}, Results: results,
	})
}

// read checks a body and returns what it asks for.
func (b *rerankBody) read() (query string, documents []string, err error) {
	if b.Query == nil {
		return "", nil, refusal.Invalid("query", `"query" must be provided`)
	}
	if json.Unmarshal(b.Query, &query) != nil || string(b.Query) == "null" {
		return "", nil, refusal.Invalid("query", `"query" must be a string`)
	}
	field, list := "documents", b.Documents
	if list == nil {
		field, list = "texts", b.Texts
	}
	if len(list) == 0 {
		return "", nil, refusal.Invalid("documents", `"documents" must be a non-empty string array`)
	}
	if b.Top != nil && *b.Top < 0 {
		return "", nil, refusal.Invalid("top_n", "top_n is %d; it must be 0 or more", *b.Top)
	}
	documents = make([]string, len(list))
	for i, raw := range list {
		if documents[i], err = documentOf(raw); err != nil {
			at := fmt.Sprintf("%s[%d]", field, i)
			return "", nil, refusal.Invalid(at, "%s must be a text, or an object with a text", at)
		}
	}
	return query, documents, nil
}

// documentOf reads a text, or an object with one.
func documentOf(raw json.RawMessage) (string, error) {
	if raw[0] != '{' {
		var text *string
		if err := json.Unmarshal(raw, &text); err != nil || text == nil {
			return "", cmp.Or(err, errNoText)
		}
		return *text, nil
	}
	var object struct {
		Text *string `json:"text"`
	}
	if err := json.Unmarshal(raw, &object); err != nil || object.Text == nil {
		return "", cmp.Or(err, errNoText)
	}
	return *object.Text, nil
}

var errNoText = errors.New("no text")

// results lists the best documents first; those with one score stay in their order.
func (b *rerankBody) results(scores []float32, documents []string) []rank {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(scores[j], scores[i]) })
	if b.Top != nil {
		order = order[:min(*b.Top, len(order))]
	}
	out := make([]rank, len(order))
	for place, i := range order {
		r := rank{Index: i}
		switch {
		case b.Texts != nil:
			r.Score = &scores[i]
			if b.ReturnText {
				r.Text = &documents[i]
			}
		default:
			r.Relevance = &scores[i]
			if b.ReturnDocuments {
				r.Document = &rankDocument{documents[i]}
			}
		}
		out[place] = r
	}
	return out
}
