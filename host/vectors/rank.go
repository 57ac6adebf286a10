// SPDX-License-Identifier: MIT

package vectors

import (
	"context"
	"fmt"

	"github.com/penstock/penstock/host/chat"
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/embedding"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/host/serving"
)

// RankRequest asks how well documents answer a query.
type RankRequest struct {
	Caller    completion.Caller // who asks, for turns and shares
	ModelName string
	Query     string
	Documents []string
	TimeoutMS *int64
}

// Ranks are the answer: a score for each document, in the order of the request. Higher is better.
type Ranks struct {
	Model  string
	Scores []float32
	Tokens int
}

// Rank scores documents.
func Rank(ctx context.Context, s *completion.Service, r RankRequest) (*Ranks, error) {
	if len(r.Documents) > maxInputs {
		return nil, refusal.Invalid("documents", "documents has %d entries; at most %d are taken", len(r.Documents), maxInputs)
	}
	ctx, stop, err := completion.WithTimeout(ctx, r.TimeoutMS)
	if err != nil {
		return nil, err
	}
	defer stop()
	pick := func(m *serving.Model) *embedding.Model { return m.Scores }
	m, release, err := find(ctx, s, r.ModelName, pick, "This server does not support reranking. Start it with `--reranking`, or with --rerank-model and a model for it")
	if err != nil {
		return nil, err
	}
	defer release()
	limits, err := m.Open()
	if err != nil {
		return nil, asError(err, "")
	}
	size := len(r.Query) * len(r.Documents)
	for _, d := range r.Documents {
		size += len(d)
	}
	inputs, err := completion.Work(ctx, s, r.Caller, size, func(ctx context.Context) ([][]int32, error) { return pairs(ctx, m, limits, r) })
	if err != nil {
		return nil, err
	}
	result, err := embed(ctx, m, embedding.Task{Caller: r.Caller.ID, Inputs: inputs, Pooling: embedding.PoolingRank, Normalize: embedding.NormalizeNone})
	if err != nil {
		return nil, gone(ctx, asError(err, "documents"))
	}
	defer result.Release()
	ranks := &Ranks{Model: m.Name, Scores: make([]float32, len(inputs)), Tokens: result.Tokens}
	for i, v := range result.Vectors {
		ranks.Scores[i] = v[0][0]
	}
	return ranks, nil
}

// pairs turns the query and each document into tokens. It ends with the first pair that is too
// long, since a long query is read again for each document.
func pairs(ctx context.Context, m *embedding.Model, l embedding.Limits, r RankRequest) ([][]int32, error) {
	inputs := make([][]int32, len(r.Documents))
	for i, document := range r.Documents {
		if ctx.Err() != nil {
			return nil, gone(ctx, context.Cause(ctx))
		}
		field := fmt.Sprintf("documents[%d]", i)
		if err := chat.CheckLength(r.Query+document, l.Input); err != nil {
			return nil, completion.TextError(err, field)
		}
		tokens, err := m.Pair(ctx, r.Query, document)
		switch {
		case err != nil:
			return nil, completion.TextError(err, field)
		case len(tokens) > l.Input:
			return nil, asError(embedding.TooLongError{Input: i, Tokens: len(tokens), Limit: l.Input}, "documents")
		}
		inputs[i] = tokens
	}
	return inputs, nil
}
