// SPDX-License-Identifier: MIT

// Package answer turns the tokens that are drawn for one request into its answer: which text may
// be shown, what is taken back, and when it ends.
//
// advance.go takes a token into the answer or replaces tokens, text.go finds the text that may be
// shown, context.go says what the model is to see of the answer. An answer knows nothing of streams
// and the KV cache: what is to be done there is in its Output. Its caller sees to it that calls do
// not overlap.
//
// # Why is what a plugin could still have taken back not shown when the deadline comes?
//
// Until a token leaves the hold window, the plugin may put another in its place: a banned phrase
// may be half written there. Where the answer reaches max_tokens the window is final, as the
// interface promises. An answer that is ended from outside, or fails, was not finished by its
// plugin. What was not shown does not count as generated either.
//
// # Why does a token's trace tell what was taken back before it?
//
// A plugin such as banned-phrases takes tokens back while they are still in the hold window. No
// client ever sees them, so no event stands for them, and without more the trace of the next
// token would only show that something likely was banned. The traces of the tokens in the window
// are there anyway; the trace of the token that comes instead takes them over. The list stays
// flat however often a stage tries in one place, and the last 16 tokens keep their own trace, so
// a frame stays bounded.
//
// # Why is the token's place looked up when it is known?
//
// Early stages leave tens of thousands of candidates, and the chosen one need not be among the
// best ten. scheduler/chain/trace.go keeps what each stage left until the end and looks the
// token up there. Most stages of a usual chain change nothing, and share one survey.
//
// # Why do a plugin's values stay when tokens are taken back?
//
// The client has them already, and only the plugin knows which of them still hold. Each says how
// many tokens the answer had, and over the WebSocket a rewound frame says what went.
//
// # Why do no stages run between the tokens of a forced run?
//
// They could decide nothing: the next token is known (those whose masks bind others prepare these,
// and nothing else). All of a run is tested against the grammar before any of it is accepted, every
// plugin accepts each token, and one forward pass computes them together: 20 tokens take one pass,
// not 20. A splice ends the run, since the rest was meant to follow tokens that the splice has
// removed.
//
// # Why is a stop rule started again where text was taken back?
//
// A rule that counts sentences counted those that a user had taken back, and ended the answer
// early. It could ask for the text instead, and may (text), but a rule that nobody thought twice
// about must be right, too. So the host keeps what it has shown the rule and shows it to a fresh
// instance, at the same places between the calls of accept. What the rule answers then is not
// obeyed, since the client has seen the text; only what it holds back is taken over, because a
// later answer counts from there.
//
// # Why do filters get the text before it is taken apart?
//
// The API tells content from reasoning and tool calls by tags in the text, and a dialect takes them
// apart only when it writes them. A filter behind that would run in the handlers of each dialect,
// after the answer's log and out of reach of its rewinds, and would have to be told of parts,
// deltas and calls. Here there is one text, which all dialects, choices and resumed streams have
// from one place, and what a filter makes of it is taken apart as if the model had written it. Stop
// strings come first: a client stops at what the model writes, not at what it stands for.
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
	filters   filters
	output    Output

	holdWindow
	replacing

	prompt   int               // how many of tokens are prompt
	context  []chain.Token     // if any have left it: those that have not
	logprobs []*chain.Logprobs // of the first tokens of the answer, where they were asked for
	beginning
}

// holdWindow has the last tokens, which a stage may still take back and which are not shown.
type holdWindow struct {
	windowSize int // at most
	window     []heldToken
}

// replacing is what there is to know of splices and rewinds while they are done.
type replacing struct {
	changed   bool              // a splice has answered the last token that Advance took
	spliced   []chain.Token     // of the splice that is being done
	takenBack []chain.TakenBack // for the trace of the next token; empty if none is wanted
}

// beginning is what was injected before the answer began.
type beginning struct {
	early         []chain.Token // tokens that the answer takes in as it begins
	passed        int           // so many of them are another answer's, whose required stages have let them pass
	expected      []chain.Token // if there are any: the prompt with them
	earlyLogprobs []*chain.Logprobs
}

// Settings are what an answer is to be like.
type Settings struct {
	MaxTokens  int           // most tokens to generate; 0 or less: until the context is full
	Stop       []string      // end, without showing it, at the first of these
	StopTokens []chain.Token // end at any of these, besides the model's own
	IgnoreEOG  bool          // the model's end-of-generation tokens do not end the answer
	Rules      []StopRule    // may end the answer, too
	Filters    []Filter      // rewrite what is shown
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
	return &Answer{settings: s, chain: c, tokens: prompt, prompt: len(prompt), holdWindow: holdWindow{windowSize: c.Hold()}, text: newText(s.Stop, s.Rules), filters: filters{list: s.Filters},
		output: Output{Unchanged: math.MaxInt}}
}

// Tokens are the prompt and the answer so far.
func (a *Answer) Tokens() []chain.Token { return a.tokens }

// PromptLen is how many of the tokens are the prompt.
func (a *Answer) PromptLen() int { return a.prompt }

// MaxTokens is how many tokens it may have at most; 0: any number.
func (a *Answer) MaxTokens() int { return a.settings.MaxTokens }

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
	early, passed, logprobs := a.early, a.passed, a.earlyLogprobs
	a.setEarly(nil)
	if err := a.inject(early, passed, logprobs); err != nil && !a.output.ended() {
		a.Fail(err) // who injected them has left
	}
}

func (a *Answer) setEarly(tokens []chain.Token) {
	a.early, a.expected = tokens, a.tokens
	a.passed = min(a.passed, len(tokens))
	a.earlyLogprobs = a.earlyLogprobs[:min(len(a.earlyLogprobs), len(tokens))]
	if len(a.tokens)+len(tokens) < a.settings.Longest { // else some leave the context at once
		a.expected = slices.Concat(a.tokens, tokens)
	}
}

// Inject appends tokens as if the chain had chosen them, up to the end of the answer or to one that
// a required stage does not allow, which is chain.ErrNotAllowed. Before Begin they wait for
// InjectEarly: stages and rules that do not know the prompt yet could not judge them.
func (a *Answer) Inject(tokens []chain.Token) error {
	if !a.chain.Begun() {
		a.setEarly(append(a.early, tokens...))
		return nil
	}
	return a.inject(tokens, 0, nil)
}

// inject appends tokens, of which the first have log-probabilities. So many need not be judged.
func (a *Answer) inject(tokens []chain.Token, passed int, logprobs []*chain.Logprobs) error {
	for i, t := range tokens {
		if i >= passed {
			why, err := a.chain.UndrawnMisfit(-1, t)
			if err != nil {
				a.Fail(err)
				return err
			}
			if why != nil {
				return fmt.Errorf("%w: %d of the %d tokens are in the answer", why, i, len(tokens))
			}
		}
		d := Details{Origin: chain.Injected, Trace: a.chain.Origin(chain.Injected, "")}
		if i < len(logprobs) {
			d.Logprobs = logprobs[i]
		}
		a.appendToken(t, d, false)
		if a.takeOutputs(); a.output.ended() {
			break
		}
	}
	return nil
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

// Flush gives the text that is still held back when the answer has ended; an incomplete character
// is lost. Where there are filters and they were not asked for the last text, since the answer was
// ended from outside or has failed, there is none: nobody is to see what they have not seen.
func (a *Answer) Flush() (text string) {
	if len(a.filters.list) == 0 {
		return a.text.flush()
	}
	text, a.filters.rest = a.filters.rest, ""
	return text
}

// filterRest has the filters make what is shown at the end of an answer that has ended by itself.
func (a *Answer) filterRest() {
	if len(a.filters.list) == 0 || a.filters.over || a.output.Reason == ReasonError {
		return
	}
	a.filters.over = true
	var err error
	if a.filters.rest, err = a.filters.show(a.text.flush(), true); err != nil {
		a.Fail(fmt.Errorf("a filter: %w", err))
	}
}

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

// Output is what has become of an answer since its output was last reset.
type Output struct {
	Shown []Shown // to be sent, in this order
	// Unchanged is how many tokens of the context, from the first, were not taken back, replaced
	// or moved: the KV cache may keep their cells.
	Unchanged int

	Reason   Reason    // why the answer has ended; 0: it goes on
	Stop     string    // with ReasonStop: the stop string, if one ended it
	By       string    // with ReasonStop: the stage, rule or program that ended it, as traces name it, if one did
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
