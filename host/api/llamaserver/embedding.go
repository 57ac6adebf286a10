// SPDX-License-Identifier: MIT

package llamaserver

import (
	"encoding/json"
	"net/http"

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

// embeddingEntry is the answer for one text: one vector, or one for each token.
type embeddingEntry struct {
	Index     int         `json:"index"`
	Embedding [][]float32 `json:"embedding"`
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
	entries := make([]embeddingEntry, len(answer.Vectors))
	for i, v := range answer.Vectors {
		entries[i] = embeddingEntry{i, v}
	}
	return c.JSON(http.StatusOK, entries)
}
