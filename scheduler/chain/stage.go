// SPDX-License-Identifier: MIT

package chain

import (
	"errors"
	"math"
)

// Token is an index into the model's vocabulary.
type Token = int32

// View is what a chain works on: the logits of one row, and the candidates that earlier stages
// left.
//
// While N is negative no stage has narrowed the row: every token of Row is a candidate. From then
// on the candidates are ID[:N] with Logit[:N]. Chosen is the token a stage decided on, or -1. No
// stage keeps a reference to it. Row is nil for a RowTaker that has taken it, and for a stage that
// ignores it.
type View struct {
	Row    []float32
	ID     []Token
	Logit  []float32
	N      int
	Chosen Token
	Bias   []Bias // set by Apply: what is to be added to the logits as they were before it; valid until the next call of the stage
}

// Likeliest is the token that a stage has chosen, or else the one with the highest logit of what
// is left; 0 if nothing is.
func (v *View) Likeliest() Token {
	if v.Chosen >= 0 {
		return v.Chosen
	}
	best, at := float32(math.Inf(-1)), Token(0)
	if v.N >= 0 {
		for i, l := range v.Logit[:v.N] {
			if l > best {
				best, at = l, v.ID[i]
			}
		}
		return at
	}
	for t, l := range v.Row {
		if l > best {
			best, at = l, Token(t)
		}
	}
	return at
}

// Stage is one step of an answer's sampler chain, with the state it keeps for that answer. Calls
// on one stage never overlap, but come from different goroutines.
type Stage interface {
	// Traits tells what the stage is, from before its first call until its end.
	Traits() Traits
	// Native tells that the backend can run this stage itself, and soon. It may become false, once
	// the stage has turned out to be slow: its draw then fails with ErrSlow, and Apply, on a
	// background sampler, draws the same token from the same row. After any Apply it may be true
	// again. Chains of exactly one native stage take the fast path: the backend draws all their
	// tokens in one call. Any other chain runs on a goroutine of its own (package background), and
	// so does that of a request with stop rules, log-probabilities or a trace.
	Native() bool
	// Apply edits the view, or sets v.Chosen: then no later stage is asked. An error ends the
	// request; ErrNoToken means that there is no token to choose from. Apply is called again for
	// the same token if a mask that leaves none is given up.
	Apply(v *View) error
	// Accept tells the stage which token was chosen, by whichever stage.
	Accept(t Token) (Effect, error)
	// Reset tells the stage what the conversation is: the first prompt tokens of history are the
	// prompt, the rest is the answer so far. It is called once before anything else, and whenever
	// that is no longer what the stage was told: tokens were taken back, or a splice is tried.
	// What is below 0 in a prompt is a row of a picture or a sound (package piece) and no token: a
	// stage passes over it.
	Reset(history []Token, prompt int) error
	// Close frees the stage.
	Close() error
}

// Traits are what does not change of a stage. The zero value promises nothing.
type Traits struct {
	Name string // in traces

	Prepares bool // it is a Preparer
	TakesRow bool // it is a RowTaker
	Guards   bool // it is a Guard
	Foresees bool // it is a Foreseer

	// Required: it is a Judge, and the answer has no token that it does not allow, by whatever stage
	// or client that token comes. It is told of tokens before stages that are not required.
	Required bool

	// IgnoresRow: Apply does not look at the row where there are candidates, so it need not be
	// given the row along with them.
	IgnoresRow bool
	// TakesLong: its calls can take long, and traces tell how long.
	TakesLong bool
	// Lasts: it stays as long as its answer goes on, as plugins do. It may know more than Reset
	// could tell another in its place. Only such a stage may have Outputs and Interrupt.
	Lasts bool
	// Hold is how many of the last tokens it may splice. They are not shown to the client, so that
	// nothing shown is taken back.
	Hold int
	// TakeBack is how many tokens more than usual an answer with the stage may compute.
	TakeBack int
	// Strict: what other stages force, choose or splice must fit its masks. It is a Preparer.
	Strict bool

	// Logprob tells the stage the log-probability of the token that it is told of next, under the
	// raw row; NaN: there is no row. Nil: it does not want to know, which spares a pass over the
	// row.
	Logprob func(float32)
	// HiddenState tells the stage what a layer of the model gave for the row that the next token is
	// drawn from; empty: there is no row, or the model gives none. It is valid until it is told
	// another. Nil: it does not want to know, and unless others do, it is not computed.
	HiddenState func([]float32)
	// StateLayer is that layer, from 1; 0: the last one, after the norm.
	StateLayer int32
	// Needs says, once the stage knows the conversation, what of the above it still needs: a plugin
	// may decline calls for an answer. Nil: all of it. It may be called beside the tick.
	Needs func() Needs
	// Refuse tells the stage which act of its own is not done, and why. An error ends the request.
	// With nil the request goes on as if the stage had not asked, and the stage asks for nothing
	// any more. Where there is no Refuse, the refusal ends the request.
	Refuse func(act Act, why error) error
	// Outputs returns what the stage has given the client since the last call, besides what it
	// does to the text. It may be called after the stage has failed.
	Outputs func() []Output
	// Notes returns what the stage says of the token that it was told of last, or of the one that
	// is about to be chosen. It is asked for tokens with a trace alone. Nil: it says nothing.
	Notes func() []string
	// Interrupt is called when the request has ended, from another goroutine than the one that may
	// be in a call. That call is to return soon, and only Close follows.
	Interrupt func()
}

// Needs is what a stage needs of what its traits say. What it does not need is not done for it.
type Needs struct {
	Prepare, Foresee, Logprob, HiddenState bool

	Hold int // tokens, at most those of its traits
}

// Effect is what a stage wants after a token was accepted. The zero value lets the answer go on.
// It is small enough to stay in registers: every token has one of each stage.
type Effect struct {
	Stop      bool
	Splice    bool // take Backtrack tokens back, the one just accepted included, and put Tokens in their place
	Backtrack int32
	Tokens    []Token // valid until the next call of the stage
}

// Output is a value for the client.
type Output struct {
	By     string // name of the stage
	Tokens int    // that the answer had when the value was given
	Value  []byte // compact JSON

	// Row is numbers in place of a Value: a hidden state. Only a program of this process asks for
	// them.
	Row []float32
}

// Preparer is a stage that computes while the forward pass runs, before the logits exist. That
// takes a processor from the pass.
type Preparer interface {
	// Prepare is called once for each token to be drawn. What it returns is valid until the next
	// call of the stage.
	Prepare() (Prepared, error)
}

// Prepared is applied to the raw row before the first stage of the chain: masks of several stages
// are joined by AND, biases add up.
type Prepared struct {
	Mask   []uint32 // bit i of word i/32: token i is allowed; nil: all are
	Bias   []Bias
	Forced []Token // the next ones: no stage is asked
}

// Bias is added to the logit of a token; −Inf bans it.
type Bias struct {
	Token Token
	Value float32
}

// bans reports whether the bias takes the token away.
func (b Bias) bans() bool { return math.IsInf(float64(b.Value), -1) }

// RowTaker is a stage that takes what it needs of the whole row where the row lies, instead of
// being given a copy.
type RowTaker interface {
	// TakeRow comes before an Apply on the whole row; the view's row is nil then. The next forward
	// pass may wait for it, so it must be quick, and it keeps nothing of what it is given. If
	// Apply leaves the view as it is, the next stage is given the row. With false it has taken
	// nothing, and finds a copy in the view.
	TakeRow(WholeRow) bool
}

// Foreseer is a stage that may know how the answer goes on before there is a row.
type Foreseer interface {
	// Foresee gives at most `most` tokens that are likely to come next, where hardly any others may;
	// mostly there are none. It changes nothing and must be quick: the tick waits.
	Foresee(most int) []Token
}

// Guard is a stage that knows which tokens the request allows: it has a grammar. What other stages
// choose, force or splice is tested against it.
type Guard interface {
	// Fits tells how many of the tokens may come next, one after the other. It changes nothing.
	Fits(tokens []Token) (int, error)
}

// Judge is a stage that can be asked about a token that it has had no draw for: one that another
// stage forces, chooses or splices, or a client injects.
type Judge interface {
	// Allows reports whether the stage leaves a token that is the only candidate.
	Allows(t Token) (bool, error)
}

// Errors of stages and of what they ask for; compare with errors.Is.
var (
	ErrNoToken    = errors.New("no token is left to choose from")
	ErrNotAllowed = errors.New("the request does not allow it") // or another of its stages does not
	// ErrSlow is of the draw of a native stage that would take long: it is to be drawn on a
	// background sampler.
	ErrSlow = errors.New("the draw takes too long for the others to wait for it")
)
