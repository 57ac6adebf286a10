// SPDX-License-Identifier: MIT

package chain

import "time"

// Trace is how a token came into an answer: who put it there, what the chain found, and what each
// stage left of it.
type Trace struct {
	How Origin
	By  string // name of the stage that chose, forced or spliced it; empty if the client injected it

	Before   Survey // the raw row; empty for a token that took no row: one of a splice, or an injected one
	Prepared []PreparedTrace
	Stages   []StageTrace
	Accepted []Timed // stages whose calls can take long, as they were told of the token

	Notes []Note // what stages say of the token

	TakenBack []TakenBack // just before the token, in order
}

// Origin is what brought a token into an answer.
type Origin uint8

// The origins of a token.
const (
	Chosen   Origin = iota // by a stage's Apply
	Forced                 // by a stage's Prepare
	Spliced                // by a stage's Accept
	Injected               // by the client
)

// String is the wire name: chosen, forced, spliced, injected.
func (o Origin) String() string { return [...]string{"chosen", "forced", "spliced", "injected"}[o] }

// PreparedTrace is what one stage asked for before the token was drawn.
type PreparedTrace struct {
	Timed
	Allowed int // tokens that its mask allows; −1: it has none
	Banned  int // tokens that its biases ban
	Biased  int // tokens with another bias
}

// StageTrace is what one stage did. What it found is what the one before it left.
type StageTrace struct {
	Name  string
	Took  time.Duration
	After Survey // with a chosen token, that one alone
}

// Timed is how long a call of a stage took.
type Timed struct {
	Name string
	Took time.Duration
}

// Note is what a stage says of a token.
type Note struct{ By, Text string }

// TakenBack are tokens that were taken back together.
type TakenBack struct {
	By     string // name of the stage; empty if the client did
	Tokens []TakenToken
}

// TakenToken is a token that was taken back. The trace of one that a client had seen is not kept.
type TakenToken struct {
	Token Token
	Trace *Trace
}

// Survey is what a chain has to choose from at one point.
type Survey struct {
	Count  int     // tokens with a finite logit
	Best   []Score // the most likely of them, most likely first, as many as Request.Trace asks for
	Chosen Ranked  // of the token that the answer got in the end
}

// Score is a token with its logit and its probability among all that are left.
type Score struct {
	Token Token
	Logit float32
	P     float32
}

// Ranked is where a token stands among the candidates.
type Ranked struct {
	Rank  int // 1 is the most likely; 0: it is no candidate
	Logit float32
	P     float32
}

// note has a trace tell what a stage says of the token.
func (l *link) note(trace *Trace) {
	if l.traits.Notes == nil {
		return
	}
	for _, text := range l.traits.Notes() {
		trace.Notes = append(trace.Notes, Note{l.name, text})
	}
}

// TakeNotes has the trace of a token tell what the stages say of it that are not told of it: it
// ends the answer, or another stage has put others in its place.
func (c *Chain) TakeNotes(trace *Trace) {
	for i := range c.links {
		if trace != nil {
			c.links[i].note(trace)
		}
	}
}

// StageName is the name of a stage in traces.
func (c *Chain) StageName(i int) string { return c.links[i].name }

// Traced reports whether the tokens of the answer have traces.
func (c *Chain) Traced() bool { return c.tracer != nil }

// Origin is the trace of a token that was not drawn from a row; nil if no traces are wanted.
func (c *Chain) Origin(how Origin, by string) *Trace {
	if c.tracer == nil {
		return nil
	}
	return &Trace{How: how, By: by}
}
