// SPDX-License-Identifier: MIT

package wire

import (
	"github.com/penstock/penstock/host/completion"
	"github.com/penstock/penstock/host/refusal"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

// Shape is how a dialect writes one answer. Frames and whole answers are encoded as JSON. A frame
// with a method EventName is a server-sent event of that name.
type Shape interface {
	// Start is the frames when a choice has got its slot.
	Start(c *completion.Choice) []any
	// Part is the frames for what an event adds to a choice.
	Part(c *completion.Choice, d completion.Delta) []any
	// Last is the frames that end a choice.
	Last(c *completion.Choice) []any
	// Closing is the frames after all choices.
	Closing(choices []*completion.Choice) []any
	// Whole is the answer in one piece, of which a PlainText goes out as it stands. wholes are
	// what its choices gathered.
	Whole(choices []*completion.Choice, wholes []*Whole) any
	// Framing is how its frames are told apart.
	Framing() Framing
}

// Detailed is a Shape for which the text of an answer is not enough. It gets every event, of an
// answer in one piece too.
type Detailed interface {
	Shape
	// Event is the frames for an event, in the place of Start, Part and Last.
	Event(c *completion.Choice, d completion.Delta) []any
}

// Failing is a Shape that has frames of its own for an answer that fails after its stream has
// begun.
type Failing interface {
	Shape
	// Failed is the frames that end the stream.
	Failed(e *refusal.Error) []any
}

// PlainText is an answer that is no JSON.
type PlainText string

// Framing is how the frames of a stream are told apart.
type Framing uint8

// The framings.
const (
	Events     Framing = iota // server-sent events
	EventsDone                // the same, with [DONE] at the end
	Lines                     // each frame is a line of JSON
)

// Whole is what one choice has gathered for an answer in one piece.
type Whole struct {
	completion.Whole
	Details
	Prompt []scheduler.PromptToken // what is reported of the prompt's tokens
	Said   []TokenProb             // those of Probs whose tokens are the content
}

// SaidIn describes the tokens of the content that an event adds, as far as its request has asked
// for that.
func SaidIn(c *completion.Choice, d completion.Delta) (said []TokenProb) {
	for _, e := range d.Said {
		if p, ok := Probability(c.Request.Model.Engine, e); ok {
			said = append(said, p)
		}
	}
	return said
}

// Details are what a client may want to know of tokens besides their text.
type Details struct {
	Probs    []TokenProb
	Traces   []TokenTrace
	Branches Branches
}

// DetailsOf describes the token of an event as far as its request has asked for that.
func DetailsOf(c *completion.Choice, d completion.Delta) (out Details) {
	engine := c.Request.Model.Engine
	if p, ok := Probability(engine, d.Event); ok {
		out.Probs = []TokenProb{p}
	}
	if token, trace := tracedIn(d.Event); trace != nil && c.Request.Params.Trace {
		out.Traces = []TokenTrace{*TraceOf(engine, token, trace)}
	}
	if c.Request.Params.Trace {
		out.Branches = BranchesOf(engine, d.Event)
	}
	return out
}

// tracedIn is the trace that an event has, and its token: that of the end is the token that ended
// the answer. nil if it has none.
func tracedIn(e scheduler.Event) (scheduler.Token, *chain.Trace) {
	if e.Kind == scheduler.KindEnd && e.End.EndToken != nil {
		return e.End.EndToken.Token, e.End.EndToken.Trace
	}
	return e.Token, e.Trace
}
