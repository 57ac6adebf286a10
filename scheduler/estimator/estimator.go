// SPDX-License-Identifier: MIT

package estimator

import "time"

// Estimator learns from the passes of one backend. It is used from one goroutine.
//
// It has one model for passes that only decode, one for those that also verify drafts, and one for
// all others. Each decode token has its row of logits, which in a small model with a large
// vocabulary is half of what it costs; in a chunk of a prompt only the last token has one.
type Estimator struct {
	decode, prefill model
	verify          model // passes with drafted tokens
	separate        bool  // decode tokens and prompt tokens are computed in two passes
	choices         int   // chunks chosen so far
	drafts          int   // lengths of drafts chosen so far
}

// New makes an estimator that has seen no pass yet. separate tells that a tick computes decode
// tokens and prompt tokens in two passes.
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
