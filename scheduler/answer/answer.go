// SPDX-License-Identifier: MIT

package answer

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/penstock/penstock/scheduler/chain"
	"github.com/penstock/penstock/scheduler/panics"
	"github.com/penstock/penstock/scheduler/piece"
)

// Answer is one answer so far, and the prompt before it.
type Answer struct {
	// What each token has to do with comes first: with many answers the processor's caches have no
	// room for all of each.
	settings  Settings
	chain     *chain.Chain
	tokens    []chain.Token // prompt first
	left      int           // tokens that have left the context
	generated int           // tokens drawn, injected ones included and taken-back ones not
	computed  int           // tokens drawn or spliced, taken-back ones included
	text      text
	output    Output

	windowSize int         // at most
	window     []heldToken // the hold window: the last tokens, which a stage may still take back and which are not shown
	changed    bool        // a splice has answered the last token that Advance took

	prompt   int           // how many of tokens are prompt
	early    []chain.Token // tokens that the answer takes in as it begins
	expected []chain.Token // if there are any: the prompt with them
	context  []chain.Token // if any have left it: those that have not

	logprobs, earlyLogprobs []*chain.Logprobs // of the first tokens of the answer and of early, where they were asked for

	spliced   []chain.Token     // of the splice that is being done
	takenBack []chain.TakenBack // for the trace of the next token; empty if none is wanted
}

// Settings are what an answer is to be like.
type Settings struct {
	MaxTokens  int           // most tokens to generate; 0 or less: until the context is full
	Stop       []string      // end, without showing it, at the first of these
	StopTokens []chain.Token // end at any of these, besides the model's own
	IgnoreEOG  bool          // the model's end-of-generation tokens do not end the answer
	Rules      []StopRule    // may end the answer, too
	Preserved  []chain.Token // control tokens that show their text

	Longest        int          // tokens that the context has room for
	Shift          *Shift       // nil: the answer ends when the context is full
	Pieces         *piece.Table // of the rows in the prompt, which leave the context as a whole; nil: there are none
	VocabularySize int
	Vocabulary     Vocabulary
}

// Vocabulary is what an answer asks about tokens.
type Vocabulary interface {
	// Piece returns the bytes of a token (llama.cpp's word; pieces of pictures are others). They
	// need not be whole UTF-8 characters. It does not allocate.
	Piece(t chain.Token) string
	// ControlText is Piece, but for control tokens: they have none there, and here their text.
	ControlText(t chain.Token) string
	// EndOfGeneration reports whether t ends an answer.
	EndOfGeneration(t chain.Token) bool
}

// heldToken is a token in the hold window.
type heldToken struct {
	token   chain.Token
	details Details
}

// Details are what is reported of a token besides its text: its origin as far as the answer knows
// it, which is not whether it was forced, and the rest if the request asks for it.
type Details struct {
	Origin   chain.Origin
	Logprob  *float32 // for stages that want it, whether the request asks or not; nil: there is no row
	Logprobs *chain.Logprobs
	Trace    *chain.Trace
}

// New makes an answer to a prompt, whose memory it takes over.
func New(c *chain.Chain, prompt []chain.Token, s Settings) *Answer {
	if len(s.Preserved) > 0 {
		s.Vocabulary = preserving{s.Vocabulary, s.Preserved}
	}
	return &Answer{settings: s, chain: c, tokens: prompt, prompt: len(prompt), windowSize: c.Hold(), text: newText(s.Stop, s.Rules),
		output: Output{Unchanged: math.MaxInt}}
}

// Tokens are the prompt and the answer so far.
func (a *Answer) Tokens() []chain.Token { return a.tokens }

// PromptLen is how many of the tokens are the prompt.
func (a *Answer) PromptLen() int { return a.prompt }

// Generated is how many tokens were drawn, injected ones included and taken-back ones not.
func (a *Answer) Generated() int { return a.generated }

// Released is how many of those tokens no stage can take back any more: those that its reader is
// shown. Where an answer is ended from outside, or fails, the others are none of it.
func (a *Answer) Released() int { return a.generated - len(a.window) }

// Begin tells the stages what the prompt is, before anything else.
func (a *Answer) Begin() error {
	err := a.chain.Begin(a.tokens, a.prompt)
	a.windowSize = a.chain.Hold() // a stage may need less for this conversation
	return err
}

// Expected is the context with what the answer takes in as it begins.
func (a *Answer) Expected() []chain.Token {
	if len(a.early) == 0 {
		return a.Context()
	}
	return a.expected
}

// Early are the tokens that the answer takes in as it begins.
func (a *Answer) Early() []chain.Token { return a.early }

// InjectEarly takes in what was injected before the answer began.
func (a *Answer) InjectEarly() {
	early, logprobs := a.early, a.earlyLogprobs
	a.setEarly(nil)
	a.inject(early, logprobs)
}

func (a *Answer) setEarly(tokens []chain.Token) {
	a.early, a.expected = tokens, a.tokens
	a.earlyLogprobs = a.earlyLogprobs[:min(len(a.earlyLogprobs), len(tokens))]
	if len(a.tokens)+len(tokens) < a.settings.Longest { // else some leave the context at once
		a.expected = slices.Concat(a.tokens, tokens)
	}
}

// Inject appends tokens as if the chain had chosen them, up to the end of the answer. Before Begin
// they wait for InjectEarly: stages and rules that do not know the prompt yet could not judge
// them.
func (a *Answer) Inject(tokens []chain.Token) {
	if !a.chain.Begun() {
		a.setEarly(append(a.early, tokens...))
		return
	}
	a.inject(tokens, nil)
}

// inject appends tokens, of which the first have log-probabilities.
func (a *Answer) inject(tokens []chain.Token, logprobs []*chain.Logprobs) {
	for i, t := range tokens {
		d := Details{Origin: chain.Injected, Trace: a.chain.Origin(chain.Injected, "")}
		if i < len(logprobs) {
			d.Logprobs = logprobs[i]
		}
		a.grow(t, d, false)
		if a.takeOutputs(); a.output.ended() {
			return
		}
	}
}

// Rebase makes other tokens, whose memory the answer takes over, the prompt of an answer that has
// no tokens yet, and tells the stages.
func (a *Answer) Rebase(prompt []chain.Token) error {
	if a.generated > 0 || len(a.early) > 0 {
		return errRebased
	}
	a.tokens, a.prompt, a.left, a.context = prompt, len(prompt), 0, nil
	a.output.Unchanged = 0
	err := a.chain.Reset(a.tokens, a.prompt)
	a.windowSize = a.chain.Hold()
	return err
}

var errRebased = errors.New("an answer that has tokens gets another prompt")

// Rewind takes the last n tokens back.
func (a *Answer) Rewind(n int) error {
	if early := len(a.early); early > 0 { // the answer has not begun
		a.setEarly(a.early[:max(early-n, 0)])
		return nil
	}
	a.noteTakenBack("", n)
	a.takeBack(n)
	err := a.chain.Reset(a.tokens, a.prompt)
	a.windowSize = max(a.windowSize, a.chain.Hold())
	if a.takeOutputs(); err != nil {
		a.Fail(err)
	}
	return err
}

// SetStages replaces the stages of the chain, and closes those before; if it fails, it closes the
// new ones.
func (a *Answer) SetStages(stages []chain.Stage) error {
	if err := a.chain.Replace(stages, a.tokens, a.prompt); err != nil {
		return err
	}
	a.windowSize = max(a.windowSize, a.chain.Hold())
	return nil
}

// Fail ends the answer for an error of a stage or rule.
func (a *Answer) Fail(err error) {
	a.takeOutputs()                                                                // given before the error
	if !errors.Is(err, chain.ErrNoToken) && !errors.Is(err, chain.ErrNotAllowed) { // those are the request's own doing: nothing failed
		err = fmt.Errorf("sampling failed: %w", err)
	}
	a.output.Reason, a.output.Err = ReasonError, err
}

// Flush gives the text that is still held back when the answer was ended from outside; an
// incomplete character is lost.
func (a *Answer) Flush() string { return a.text.flush() }

// Close closes stages and rules.
func (a *Answer) Close() { Close(a.chain.Stages(), a.settings.Rules) }

// Close closes the stages and rules of an answer, or those that would have been one's. Errors of
// rules are dropped: the request is over.
func Close(stages []chain.Stage, rules []StopRule) {
	chain.Close(stages)
	for _, r := range rules {
		_ = panics.Try(r.Close)
	}
}

// preserving is a vocabulary in which some control tokens show their text.
type preserving struct {
	Vocabulary
	tokens []chain.Token
}

// Piece implements Vocabulary.
func (p preserving) Piece(t chain.Token) string {
	if slices.Contains(p.tokens, t) {
		return p.ControlText(t)
	}
	return p.Vocabulary.Piece(t)
}
