// SPDX-License-Identifier: MIT

package chain

import "time"

// Trace is how a token came to be: what the chain found, and what each stage left of it.
type Trace struct {
	Before Survey // the raw row
	Stages []StageTrace
}

// StageTrace is what one stage did. What it found is what the one before it left.
type StageTrace struct {
	Name  string
	Took  time.Duration
	After Survey // with a chosen token, that one alone
}

// Survey is what a chain has to choose from at one point.
type Survey struct {
	Count int     // tokens with a finite logit
	Best  []Score // the most likely of them, most likely first, as many as Request.Trace asks for
}

// Score is a token with its logit and its probability among all that are left.
type Score struct {
	Token Token
	Logit float32
	P     float32
}

// Named is a stage that a trace can name.
type Named interface {
	Name() string
}
