// SPDX-License-Identifier: MIT

package llamaserver

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/openai"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/vectors"
)

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
