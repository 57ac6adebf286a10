// SPDX-License-Identifier: MIT

// Package estimator predicts how long a forward pass takes, and chooses from that how many prompt tokens a tick computes.
package estimator

import "time"

// Estimator learns from the passes of one backend. It is used from one goroutine.
//
// Passes that only decode and passes with prompt tokens are learned apart: every decode token has its row of logits, which in a small
// model with a large vocabulary is half of what it costs; of a chunk of a prompt the last token has one at most.
type Estimator struct {
	decode, prefill costs
	separate        bool // decode tokens and prompt tokens are computed in two passes
	choices         int  // of a chunk beside decode tokens
}

// New makes an estimator that has seen no pass yet. separate tells that a tick computes decode tokens and prompt tokens in two passes.
func New(separate bool) *Estimator { return &Estimator{separate: separate} }

// Pass is what a forward pass computes.
type Pass struct {
	Tokens int
	Cells  int // summed over the tokens: the positions each attends to
}

// ObserveDecode learns from a pass without prompt tokens.
func (e *Estimator) ObserveDecode(p Pass, took time.Duration) { e.decode.observe(p, took) }

// ObservePrefill learns from a pass with prompt tokens.
func (e *Estimator) ObservePrefill(p Pass, took time.Duration) { e.prefill.observe(p, took) }
