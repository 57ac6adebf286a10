// SPDX-License-Identifier: MIT

package scheduler

import (
	"slices"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/piece"
)

// Token is an index into the model's vocabulary.
type Token = chain.Token

// Limits are the fixed sizes of a backend.
type Limits struct {
	Vocabulary int // tokens in the vocabulary; the length of a logits row
	Cells      int // KV cells, shared by all sequences
	Context    int // positions one sequence may have
	Batch      int // tokens one forward pass may carry
	Sequences  int // sequences the KV cache can tell apart
	Rows       int // output rows one forward pass may carry

	// HiddenState is how many numbers a hidden state has that comes with a row; 0: the model gives
	// none.
	HiddenState int

	// SeparatePasses says that a tick computes decode tokens and prompt tokens in two passes,
	// since that is faster than one.
	SeparatePasses bool
	// Drafts says that a pass can have rows of several tokens of a sequence, and that Truncate
	// keeps the first part of what it computed.
	Drafts bool
	// AlikeDrafts says that all tokens of a pass with drafts must be of sequences that have as
	// many each.
	AlikeDrafts bool
	// MostDrafted is how many tokens of a sequence Truncate drops of the last pass; 0: any number.
	MostDrafted int
}

// longest is how many tokens a conversation may have.
func (l Limits) longest() int { return min(l.Context, l.Cells) }

// Backend is the model as the scheduler needs it. Its methods are called from the tick only, one
// at a time; Row, and Piece of its Vocabulary, may be called from several goroutines between Wait
// and the next Start.
type Backend interface {
	Limits() Limits

	// Start begins a forward pass over b, which stays untouched until Wait has returned. Start and
	// Wait are separate so that work that does not need the logits can run beside the pass.
	Start(b *Batch) error
	// Wait blocks until the pass begun by Start is done. ErrNoCells means that nothing was
	// computed for want of KV cells; after any other error the cache holds an unknown part of the
	// batch.
	Wait() error
	// Row returns the logits of output row i of the last pass: Limits.Vocabulary floats, owned by
	// the backend and valid until the next Start. Stages may write to it. Without such a row it
	// returns nil, which fails the answer.
	Row(i int) []float32
	// HiddenState returns what a layer of the model gave for output row i, from 1, or the last one
	// after the norm, which is layer 0: Limits.HiddenState floats, which are not written to and are
	// valid as long as the row. Without such a row, and where Batch.HiddenStates did not ask for it,
	// it returns nil.
	HiddenState(layer int32, i int) []float32
	// SampleRows draws one token for each entry; every Stage in it is Native. Results are written
	// into the entries; an entry without a row gets an error, and chain.ErrSlow one that would
	// hold up the others.
	SampleRows(draws []Draw)

	answer.Vocabulary
	kvcache.Memory
	chain.Masker
}

// Batch is the input of one forward pass: four columns of equal length, one entry a token.
type Batch struct {
	Tokens    []Token
	Positions []int32
	Sequences []int32
	Outputs   []bool // whether the logits after this token are wanted
	// PromptRows says that some of these are of tokens within a prompt, so a sequence may have any
	// number of rows.
	PromptRows bool
	// HiddenStates are the layers whose states of the output rows are wanted as well, each once;
	// see Backend.HiddenState.
	HiddenStates []int32
	Adapters     Adapters // that compute all of it besides the model; nil: the model alone does

	// Piece, if set, has the embeddings that are computed in place of tokens: entry i is its row
	// FirstRow + i, all are of one sequence, and none has logits. Each has its row's position,
	// but for a grid, where all entries have the position at which the piece begins. All rows of a
	// piece that is Whole are in one batch.
	Piece    *piece.Piece
	FirstRow int

	rows int
}

// Add appends a token and returns the number of its output row, or -1 if none is wanted.
func (b *Batch) Add(t Token, position, sequence int32, output bool) int {
	b.Tokens = append(b.Tokens, t)
	b.Positions = append(b.Positions, position)
	b.Sequences = append(b.Sequences, sequence)
	b.Outputs = append(b.Outputs, output)
	if !output {
		return -1
	}
	b.rows++
	return b.rows - 1
}

// WantStates asks for the hidden states of layers.
func (b *Batch) WantStates(layers ...int32) {
	for _, layer := range layers {
		if !slices.Contains(b.HiddenStates, layer) {
			b.HiddenStates = append(b.HiddenStates, layer)
		}
	}
}

// Len is the number of tokens in the batch.
func (b *Batch) Len() int { return len(b.Tokens) }

// Rows is the number of output rows the pass will have.
func (b *Batch) Rows() int { return b.rows }

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	b.Tokens, b.Positions = b.Tokens[:0], b.Positions[:0]
	b.Sequences, b.Outputs = b.Sequences[:0], b.Outputs[:0]
	b.rows, b.PromptRows, b.HiddenStates = 0, false, b.HiddenStates[:0]
	b.Piece, b.FirstRow = nil, 0
}

// Draw asks the backend to sample one row.
type Draw struct {
	Row   int         // output row of the last pass
	Stage chain.Stage // a native stage
	Token Token       // result
	Err   error       // result: why there is no token
}
