// SPDX-License-Identifier: MIT

package ollama

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/embedding"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/vectors"
)

// embedBody is POST /api/embed.
type embedBody struct {
	Model      string          `json:"model"`
	Input      json.RawMessage `json:"input"`
	Truncate   *bool           `json:"truncate"` // absent: true
	Dimensions int             `json:"dimensions"`
	TimeoutMS  *int64          `json:"timeout_ms"` // an addition of ours
}

// embedAnswer is the answer without texts; another's vectors are written one by one.
type embedAnswer struct {
	Model      string      `json:"model"`
	Embeddings [][]float32 `json:"embeddings"`
	embedTimes
}

type embedTimes struct {
	Total time.Duration `json:"total_duration"`
	Load  time.Duration `json:"load_duration"` // always 0: it is not told from the rest
	Count int           `json:"prompt_eval_count"`
}

func (a API) embed(c echo.Context) error {
	begun := time.Now()
	var b embedBody
	if err := wire.ReadJSON(c, &b); err != nil {
		return err
	}
	if slices.Contains([]string{"", "null", `""`, "[]"}, string(b.Input)) {
		return a.load(c, b.Model, func(model string) any { return embedAnswer{Model: model, Embeddings: [][]float32{}} })
	}
	if b.Dimensions < 0 {
		return refusal.Invalid("dimensions", "dimensions is %d; it must be at least 1, or 0 for all", b.Dimensions)
	}
	answer, err := vectors.Embed(c.Request().Context(), a.Service, vectors.EmbeddingRequest{Caller: wire.CallerOf(c), ModelName: modelName(b.Model), Input: b.Input, Field: "input",
		OneVector: true, Truncate: b.Truncate == nil || *b.Truncate, TimeoutMS: b.TimeoutMS})
	if err != nil {
		return err
	}
	defer answer.Release()
	list := wire.JSONList(answer.Vectors, func(_ int, v [][]float32, yield func(any) bool) bool { return yield(shortenVector(v[0], b.Dimensions)) })
	return wire.JSONParts(c, wire.JSONWith(struct {
		Model string `json:"model"`
	}{answer.Model}, "embeddings", list, embedTimes{Total: time.Since(begun), Count: answer.Tokens}))
}

// shortenVector gives a vector n dimensions and the length 1; 0, or more than it has: all of them,
// as with Ollama.
func shortenVector(v []float32, n int) []float32 {
	if n == 0 || n >= len(v) {
		return v
	}
	v = v[:n]
	embedding.Normalize(v, embedding.NormalizeEuclidean)
	return v
}

// embeddingsBody is POST /api/embeddings, an older route for one text.
type embeddingsBody struct {
	Model     string `json:"model"`
	Prompt    string `json:"prompt"`
	TimeoutMS *int64 `json:"timeout_ms"` // an addition of ours
}

type embeddingsAnswer struct {
	Embedding []float32 `json:"embedding"`
}

// embeddings answers with a vector that is not normalised.
func (a API) embeddings(c echo.Context) error {
	var b embeddingsBody
	if err := wire.ReadJSON(c, &b); err != nil {
		return err
	}
	if b.Prompt == "" {
		return a.load(c, b.Model, func(string) any { return embeddingsAnswer{[]float32{}} })
	}
	text, _ := json.Marshal(b.Prompt) // every text has a JSON form
	asItIs := embedding.NormalizeNone
	answer, err := vectors.Embed(c.Request().Context(), a.Service, vectors.EmbeddingRequest{Caller: wire.CallerOf(c), ModelName: modelName(b.Model), Input: text, Field: "prompt",
		OneVector: true, Normalize: &asItIs, Truncate: true, TimeoutMS: b.TimeoutMS})
	if err != nil {
		return err
	}
	defer answer.Release()
	return c.JSON(http.StatusOK, embeddingsAnswer{answer.Vectors[0][0]})
}
