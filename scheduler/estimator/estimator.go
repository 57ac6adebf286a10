// SPDX-License-Identifier: MIT

// Package estimator predicts how long a forward pass takes, and chooses from that how many prompt tokens and drafted tokens a tick computes.
//
// A tick without prompts may compute drafted tokens: drafts.go chooses how many. This is how the others choose:
//
// The prompt tokens that a tick computes are its chunk, whether they are of one prompt or of several. A larger chunk computes
// prompts faster, and the slots that generate wait longer for their next token. The default rule, DecodeMaximal, is this: of the
// chunks with which the tick stays within the target, take the one with the largest
//
//	n^s / t · e
//
// where n is the chunk, t the estimated duration of the tick, and s the share of the tick's time that prompts should get. s is 0.5
// while any slot generates, or 0.45 where one pass computes both. (Where t is a + b·n, the largest n^s/t is where b·n, the prompt's
// part, is s·t.) e is the efficiency of the tick: how long its tokens would take at the lowest cost a token that any size of chunk
// has, divided by t. It matters because a token may cost more in a chunk of 64 than in one of 16 or of 512. In one pass, and while
// no slot generates, e is 1. Whatever the target, prompts get a least share of the tick's time: Demand.MinShare, and more where many
// short prompts wait.
//
// While no slot generates there is no target, and the strategy is not asked: s is 0.95, of chunks that have at most 512 tokens or
// take at most 100 ms. If slots of another model on the same machine generate, the target holds for these chunks, too.
//
// The estimate comes from the passes so far. So that it is right for sizes that are not in use, a size that was never measured is
// tried once, and now and then a tick takes the size next to the best one.
package estimator

import "time"

// Estimator learns from the passes of one backend. It is used from one goroutine.
//
// It has one model for passes that only decode, one for those that also verify drafts, and one for all others. Each decode token has its row of logits, which in a small model
// with a large vocabulary is half of what it costs; in a chunk of a prompt only the last token has one.
type Estimator struct {
	decode, prefill model
	verify          model // passes with drafted tokens
	separate        bool  // decode tokens and prompt tokens are computed in two passes
	choices         int   // chunks chosen so far
	drafts          int   // lengths of drafts chosen so far
}

// New makes an estimator that has seen no pass yet. separate tells that a tick computes decode tokens and prompt tokens in two passes.
func New(separate bool) *Estimator { return &Estimator{separate: separate} }

// Pass is what a forward pass computes.
type Pass struct {
	Tokens int
	Cells  int // KV cells that the tokens attend to: their positions, summed
}

// Decode estimates a pass without prompt tokens.
func (e *Estimator) Decode(p Pass) time.Duration { return e.decode.predict(p) }

// Prefill estimates a pass with prompt tokens.
func (e *Estimator) Prefill(p Pass) time.Duration { return e.prefill.predict(p) }

// ObserveDecode learns from a pass without prompt tokens.
func (e *Estimator) ObserveDecode(p Pass, took time.Duration) { e.decode.observe(p, took) }

// ObservePrefill learns from a pass with prompt tokens.
func (e *Estimator) ObservePrefill(p Pass, took time.Duration) { e.prefill.observe(p, took) }
