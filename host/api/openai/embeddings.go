// SPDX-License-Identifier: MIT

package openai

import (
	"encoding/binary"
	"encoding/json"
	"math"

	"github.com/labstack/echo/v4"
	"github.com/penstock/penstock/host/api/wire"
	"github.com/penstock/penstock/host/embedding"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/vectors"
)

// embeddingsBody is POST /v1/embeddings.
type embeddingsBody struct {
	Model      string          `json:"model"`
	Input      json.RawMessage `json:"input"`
	Format     *string         `json:"encoding_format"`
	Dimensions *int            `json:"dimensions"`
	User       *string         `json:"user"`           // taken, for nothing
	Normalize  *int            `json:"embd_normalize"` // llama-server's
	TimeoutMS  *int64          `json:"timeout_ms"`     // ours
}

// The formats of a vector.
const (
	formatFloat  = "float"
	formatBase64 = "base64"
)

func (a API) embeddings(c echo.Context) error {
	var b embeddingsBody
	if err := wire.ReadJSON(c, &b); err != nil {
		return err
	}
	if b.Format != nil && *b.Format != formatFloat && *b.Format != formatBase64 {
		return refusal.Invalid("encoding_format", "encoding_format is %q; it must be float or base64", *b.Format)
	}
	answer, err := vectors.Embed(c.Request().Context(), a.Service, vectors.EmbeddingRequest{Caller: wire.CallerOf(c),
		ModelName: b.Model, Input: b.Input, Field: "input", OneVector: true, Normalize: b.Normalize, TimeoutMS: b.TimeoutMS,
	})
	if err != nil {
		return err
	}
	defer answer.Release()
	if err := b.shorten(answer.Vectors); err != nil {
		return err
	}
	list := embeddingList{Model: answer.Model, Object: "list", Usage: EmbeddingUsage{answer.Tokens, answer.Tokens}}
	return wire.JSONParts(c, wire.JSONWith(list, "data", wire.JSONList(answer.Vectors, b.entry), nil))
}

// shorten gives vectors the dimensions that were asked for, of length 1 again: those of models
// that are trained for it (Matryoshka) keep their meaning.
func (b *embeddingsBody) shorten(vectors [][][]float32) error {
	if b.Dimensions == nil {
		return nil
	}
	most := len(vectors[0][0])
	if *b.Dimensions < 1 || *b.Dimensions > most {
		return refusal.Invalid("dimensions", "dimensions is %d; the embeddings of this model have %d, of which 1 to all can be asked for", *b.Dimensions, most)
	}
	if *b.Dimensions == most {
		return nil
	}
	for _, v := range vectors {
		v[0] = v[0][:*b.Dimensions]
		embedding.Normalize(v[0], embedding.NormalizeEuclidean)
	}
	return nil
}

// embeddingList is OpenAI's list of embeddings.
type embeddingList struct {
	Model  string         `json:"model"`
	Object string         `json:"object"`
	Usage  EmbeddingUsage `json:"usage"`
	// and data, a list of embeddingObject
}

// EmbeddingUsage counts the tokens of a request for embeddings or scores.
type EmbeddingUsage struct {
	Prompt int `json:"prompt_tokens"`
	Total  int `json:"total_tokens"`
}

type embeddingObject struct {
	Embedding any    `json:"embedding"` // numbers, or their bytes in base64
	Index     int    `json:"index"`
	Object    string `json:"object"`
	Format    string `json:"encoding_format,omitempty"` // llama-server tells base64
}

// entry is the answer for one text.
func (b *embeddingsBody) entry(i int, v [][]float32, yield func(any) bool) bool {
	o := embeddingObject{Embedding: v[0], Index: i, Object: "embedding"}
	if b.Format != nil && *b.Format == formatBase64 {
		o.Embedding, o.Format = bytesOf(v[0]), formatBase64
	}
	return yield(o)
}

// bytesOf is a vector as 32-bit numbers, little endian; encoding/json writes bytes in base64.
func bytesOf(v []float32) []byte {
	out := make([]byte, 0, 4*len(v))
	for _, x := range v {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
	}
	return out
}
