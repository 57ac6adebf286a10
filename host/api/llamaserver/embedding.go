// SPDX-License-Identifier: MIT

package llamaserver

import (
	"encoding/json"
	"strconv"

	"github.com/labstack/echo/v4"
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
