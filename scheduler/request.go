// SPDX-License-Identifier: MIT

package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/penstock/penstock/scheduler/answer"
	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/kvcache"
	"github.com/penstock/penstock/scheduler/piece"
	"github.com/penstock/penstock/scheduler/program"
)

// Segment is a part of a prompt: tokens, of which those below 0 are rows of the request's Pieces.
type Segment struct {
	Tokens []Token
}

// Request is one answer to compute. The scheduler owns Chain and Rules from Submit on, and closes
// them, whatever Submit returns.
type Request struct {
	Prompt []Segment
	Pieces []*piece.Piece // of pictures and sounds, whose tokens Config.Pieces gave

	// Begun are the tokens with which the answer begins, as if the chain had chosen them: it goes
	// on from there. They are shown, with the log-probabilities that are given, and count as
	// generated.
	Begun answer.Begun

	// Chain chooses the tokens. At least one stage, unless there is a Program.
	Chain []chain.Stage
	// Program, if set, chooses the tokens in place of Chain, whose stages are only told of them.
	// It has no Slot, Shift, Begun, PromptLogprobs and NoAnswer, and counts as as many requests as
	// it has branches. Further requests of one SubmitAll with the same Program are for what it
	// shows as its further choices, in their order.
	Program *program.Program

	Ending
	Shift *answer.Shift // how the answer goes on when the context is full; nil: it ends

	// Adapters compute the request's tokens besides the model, from token AdaptersFrom on, or from
	// the beginning of the piece that this is in; nil: the model alone does.
	Adapters     Adapters
	AdaptersFrom int

	Reports
	Delivery
	Drafting
	Service
	Caching

	// Ended, if set, is told of the end, before the stream's reader is. As a Listener's functions
	// it must be quick and must not call back.
	Ended func(RequestRecord)
	// Context is whatever listeners are to know of the request, in its values. It ends nothing.
	Context context.Context
}

// Ending is what ends an answer.
type Ending struct {
	MaxTokens  int               // most tokens to generate; 0 or less: until the context is full
	Stop       []string          // end, without showing it, at the first of these
	StopTokens []Token           // end at any of these, besides the model's own
	IgnoreEOG  bool              // the model's end-of-generation tokens do not end the answer
	Preserved  []Token           // control tokens that show their text in the answer, for a reader who looks for them
	Rules      []answer.StopRule // may end the answer, too
	Filters    []answer.Filter   // rewrite what is shown
}

// Reports is what an answer's reader is told besides its text.
type Reports struct {
	// Logprobs is how many of the most likely tokens to report with each token, from the raw row;
	// -1: none and no probability of the token itself either. With chain.AllTokens it is the whole
	// row, so Buffer is to be small.
	Logprobs int
	// Trace is how many of the most likely tokens to report before and after each stage, with each
	// token that the chain draws; 0: no trace.
	Trace int
	// PromptLogprobs asks for the log-probabilities of the prompt's tokens too, all but the
	// first's, with as many others as Logprobs says. They come in KindPrompt events before the
	// answer. Cached cells have no logits, so all of the prompt is computed. A prompt with Pieces
	// is refused: their rows have no logits.
	PromptLogprobs bool
	// NoAnswer ends the request, as one that has reached its length, before a token is drawn.
	NoAnswer bool
	// Progress asks for an event after each part of the prompt.
	Progress bool
}

// Delivery is how events get to their reader.
type Delivery struct {
	Overflow OverflowPolicy
	Buffer   int // events the stream holds for a slow reader before Overflow counts; 0: the default
}

// OverflowPolicy says what happens to a slot whose reader does not keep up.
type OverflowPolicy uint8

// The overflow policies of a stream.
const (
	Park       OverflowPolicy = iota // the job waits until its reader drains; its slot goes to others that wait for one
	DropOldest                       // the reader learns how many events it missed
	CancelSlow                       // the request ends as cancelled
)

// Drafting bounds the tokens that are guessed of an answer.
type Drafting struct {
	MostDrafted  int     // at once; 0: as many as the scheduler does; negative: none
	LeastDrafted int     // for any of them to be computed
	LeastChance  float64 // of each to be right
}

// Service is when and where a request is served.
type Service struct {
	Caller   string    // who asks: callers have shares of the queue, and take turns for slots; empty: nobody in particular
	Priority int       // higher goes first: each step counts as arriving 10 s earlier; equal ones in order of arrival
	Deadline time.Time // the answer ends as an error then; zero: never
	Slot     *int      // the slot that computes it, for which it waits; nil: the first that is free
}

// Caching is which KV cells a request may begin from.
type Caching struct {
	CachePrompt bool   // cached cells with the same prefix
	CacheSalt   string // only cells that were computed under the same salt; else a fast answer would reveal what others sent
}

// Errors that Submit, a stream's calls and its end event may carry; compare with errors.Is.
var (
	ErrQueueFull     = errors.New("the queue is full")
	ErrQueueShare    = errors.New("as many requests of this caller wait as one may have")
	ErrTooMany       = errors.New("more answers at once than there can be")
	ErrClosed        = errors.New("the scheduler is closed")
	ErrEmptyPrompt   = errors.New("the prompt has no tokens")
	ErrPromptTooLong = errors.New("the prompt is longer than the context")
	ErrBadRequest    = errors.New("invalid request")
	ErrDeadline      = errors.New("the deadline has passed")
	ErrEnded         = errors.New("the stream has ended")
	ErrSlowReader    = errors.New("the reader did not keep up")
	ErrNoCells       = errors.New("no KV cells left")
	ErrPass          = errors.New("the forward pass failed")
	ErrLost          = errors.New("what computes the answers was lost")
)

// PromptTooLong is an ErrPromptTooLong with its numbers.
type PromptTooLong struct{ Tokens, Context int }

// Error names the numbers.
func (e *PromptTooLong) Error() string {
	return fmt.Sprintf("%v: %d tokens, the context has room for %d and one to generate", ErrPromptTooLong, e.Tokens, e.Context-1)
}

// Is makes the error an ErrPromptTooLong.
func (*PromptTooLong) Is(target error) bool { return target == ErrPromptTooLong }

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
	// valid as long as the row. Without such a row, and where Batch.HiddenStates did not ask for
	// it, it returns nil.
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
