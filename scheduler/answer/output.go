// SPDX-License-Identifier: MIT

package answer

import (
	"errors"
	"math"

	"github.com/penstock/penstock/scheduler/chain"
)

// Output is what has become of an answer since its output was last reset.
type Output struct {
	Shown []Shown // to be sent, in this order
	// Unchanged is how many tokens of the context, from the first, were not taken back, replaced
	// or moved: the KV cache may keep their cells.
	Unchanged int

	Reason   Reason    // why the answer has ended; 0: it goes on
	Stop     string    // with ReasonStop: the stop string, if one ended it
	EndToken *EndToken // with ReasonStop: the token, if one ended it that is not part of the answer
	Err      error     // with ReasonError
}

// EndToken is a token that ended an answer.
type EndToken struct {
	Token chain.Token
	Details
}

// Shown is what the reader of an answer is shown at a time: a token that has left the hold window,
// as nearly always, or what More says. It is small, so that the processor's caches hold what many
// streams have ready.
type Shown struct {
	Text   string // that may be shown now; empty while it is held back
	Token  chain.Token
	Origin chain.Origin
	More   *More // nil: a token with its text
}

// More is what few tokens have, or what is no token: then one of the last three is set.
type More struct {
	Logprobs *chain.Logprobs
	Trace    *chain.Trace

	TakenBack int           // so many of the last tokens that were shown are; Text is the end of the text shown that goes with them
	Output    *chain.Output // a value of a stage for the client
	Other     any           // what whoever computes the answer tells its reader between what it shows
}

// IsToken reports whether it is a token.
func (s *Shown) IsToken() bool {
	return s.More == nil || s.More.TakenBack == 0 && s.More.Output == nil && s.More.Other == nil
}

// Reason says why an answer ended.
type Reason uint8

// The reasons why an answer ends.
const (
	ReasonStop      Reason = iota + 1 // the model, a stop string, token or rule ended it
	ReasonLength                      // max tokens or the context is reached
	ReasonCancelled                   // the client went away or asked for it
	ReasonError                       // a stage, a rule or the backend failed
)

// String is the settled wire name: stop, length, cancelled, error.
func (r Reason) String() string {
	switch r {
	case ReasonStop:
		return "stop"
	case ReasonLength:
		return "length"
	case ReasonCancelled:
		return "cancelled"
	case ReasonError:
		return "error"
	}
	return "none"
}

// ErrSpliceLimit is the error of a request whose stages have replaced too many of its tokens.
var ErrSpliceLimit = errors.New("tokens were taken back too often")

// Output is what has become of the answer. It changes with the next call.
func (a *Answer) Output() *Output { return &a.output }

// Reset forgets what was sent and cut; an end stays. What was sent lies there until it is
// overwritten.
func (o *Output) Reset() {
	o.Shown, o.Unchanged = o.Shown[:0], math.MaxInt
}

// takeOutputs adds what the stages have given for the client.
func (a *Answer) takeOutputs() {
	if a.chain.GivesOutputs() {
		a.showOutputs()
	}
}

func (a *Answer) showOutputs() {
	for _, o := range a.chain.Outputs() {
		a.output.Shown = append(a.output.Shown, Shown{More: &More{Output: &o}})
	}
}

func (o *Output) ended() bool { return o.Reason != 0 }
