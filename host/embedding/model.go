// SPDX-License-Identifier: MIT

package embedding

import "context"

// Model is a model that gives embeddings, or one that scores documents, as requests use it.
type Model struct {
	*Service
	Text
	Name       string // what clients call it
	Vocabulary int    // tokens
	// Pooling is what was configured, or else what the model's file says; empty: neither. It is
	// PoolingRank where the model scores.
	Pooling Pooling
	// OneVector is the pooling for requests that take one vector for a text: Pooling where that
	// gives one and was not configured to give several.
	OneVector Pooling
	Normalize int // for requests that do not say how
}

// Text turns what requests hold into tokens. When ctx is done it ends soon, with its cause.
type Text interface {
	Tokenize(ctx context.Context, text string, addSpecial, parseSpecial bool) ([]int32, error)
	// Pair is the input by which a model scores a document for a query.
	Pair(ctx context.Context, query, document string) ([]int32, error)
}
