// SPDX-License-Identifier: MIT

package engine

import (
	"context"
	"slices"
	"unicode/utf8"

	"github.com/penstock/penstock/host/sampling"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/chain"
)

// thinking follows the thinking of an answer: where it begins and ends, and how much of its budget
// is left. When that is used up, and the last character is whole, it has the end of thinking
// forced. A nil one is that of an answer whose thinking is not known.
type thinking struct {
	piece  func(scheduler.Token) string
	budget int // tokens; negative: no limit
	start  tokenMatcher
	end    tokenMatcher
	forced []scheduler.Token // the message and the first end tag
	prompt []scheduler.Token // the beginning of the answer that stands in the prompt

	phase   phase
	left    int               // of the budget, while thinking
	tail    []byte            // of the text of this thinking, up to 4 bytes
	nforced int               // of the tokens to force
	ended   []scheduler.Token // the end tag of the thinking that ended last; nil if it was not seen
}

// phase is where an answer is in its thinking.
type phase uint8

const (
	speaking   phase = iota // not thinking
	counting                // thinking
	completing              // thinking; the budget is used up, but a character is not complete
	forcing                 // the end of thinking is forced
)

// newThinking tokenises the tags; nil where they are not known, or where there is nothing to do:
// no budget, and no grammar that must sleep while the model thinks.
func (e *Engine) newThinking(p sampling.Params) (*thinking, error) {
	if !p.Thinking.IsKnown() || p.Thinking.Budget < 0 && !(p.IsSet() && p.GrammarLazy) {
		return nil, nil
	}
	th := &thinking{piece: e.model.Piece, budget: p.Thinking.Budget}
	var err error
	tokenize := func(field, text string) (tokens []scheduler.Token) {
		if err == nil && text != "" {
			if tokens, err = e.Tokenize(context.Background(), text, false, true); err != nil {
				err = sampling.Refused(field, "%s: %v", field, err)
			}
		}
		return tokens
	}
	th.start.add(tokenize("reasoning_budget_start_tag", p.Thinking.StartTag))
	for _, tag := range p.Thinking.EndTags {
		th.end.add(tokenize("reasoning_budget_end_tags", tag))
	}
	message := tokenize("reasoning_budget_message", p.Thinking.Message)
	if err != nil || len(th.start.sequences) == 0 || len(th.end.sequences) == 0 {
		return nil, err
	}
	th.forced = append(message, th.end.sequences[0]...)
	if th.prompt, err = e.generationPrompt(p.GenerationPrompt); err != nil {
		return nil, err
	}
	th.reset()
	return th, nil
}

// active reports whether the answer is thinking.
func (th *thinking) active() bool { return th != nil && th.phase != speaking }

// force are the tokens that must come next, or none.
func (th *thinking) force() []scheduler.Token {
	if th == nil || th.phase != forcing {
		return nil
	}
	return th.forced[th.nforced:]
}

// reset goes to the beginning of an answer.
func (th *thinking) reset() {
	if th == nil {
		return
	}
	th.phase, th.ended = speaking, nil
	th.start.reset()
	for _, t := range th.prompt {
		th.accept(t)
	}
}

// accept takes the next token of the answer.
func (th *thinking) accept(t scheduler.Token) {
	if th == nil {
		return
	}
	if th.phase == speaking {
		if th.start.accept(t) != nil {
			th.begin()
		}
		return
	}
	th.tail = append(th.tail, th.piece(t)...)
	th.tail = th.tail[max(0, len(th.tail)-utf8.UTFMax):]
	ended := th.end.accept(t)
	switch {
	case th.phase == forcing:
		th.follow(t, ended)
	case ended != nil:
		th.finish(ended)
	case th.phase == counting && th.budget >= 0:
		if th.left--; th.left <= 0 {
			th.exhaust()
		}
	case th.phase == completing && isWhole(th.tail):
		th.phase = forcing
	}
}

// clone copies what accept changes.
func (th *thinking) clone() *thinking {
	if th == nil {
		return nil
	}
	c := *th
	c.tail = slices.Clone(th.tail)
	c.start.tail, c.end.tail = slices.Clone(th.start.tail), slices.Clone(th.end.tail)
	return &c
}

// begin begins to think.
func (th *thinking) begin() {
	th.phase, th.left, th.ended = counting, th.budget, nil
	th.tail = th.tail[:0]
	th.end.reset()
	if th.budget == 0 {
		th.exhaust()
	}
}

// exhaust begins to force the end, unless a character is not complete.
func (th *thinking) exhaust() {
	th.end.reset()
	th.phase, th.nforced = forcing, 0
	if !isWhole(th.tail) {
		th.phase = completing
	}
}

// follow takes a token while the end is forced. One that is another, because a client or a plugin
// has put it there or the budget was changed, has the forced tokens begin again.
func (th *thinking) follow(t scheduler.Token, ended []scheduler.Token) {
	switch {
	case t != th.forced[th.nforced] && ended != nil:
		th.finish(ended)
	case t != th.forced[th.nforced]:
		th.nforced = 0
	default:
		if th.nforced++; th.nforced == len(th.forced) {
			th.finish(ended)
		}
	}
}

func (th *thinking) finish(ended []scheduler.Token) {
	th.phase, th.ended = speaking, ended
	th.start.reset()
}

// isWhole reports whether a text ends with a whole character.
func isWhole(text []byte) bool {
	for i := len(text) - 1; i >= 0; i-- {
		if utf8.RuneStart(text[i]) {
			return utf8.FullRune(text[i:])
		}
	}
	return true
}

// tokenMatcher finds the longest of some sequences of tokens wherever it ends.
type tokenMatcher struct {
	sequences [][]scheduler.Token
	tail      []scheduler.Token // since the last match, as long as the longest sequence
	longest   int
}

func (m *tokenMatcher) add(sequence []scheduler.Token) {
	if len(sequence) > 0 {
		m.sequences = append(m.sequences, sequence)
		m.longest = max(m.longest, len(sequence))
	}
}

func (m *tokenMatcher) reset() { m.tail = m.tail[:0] }

// accept takes the next token and returns the sequence that ends with it, or nil.
func (m *tokenMatcher) accept(t scheduler.Token) (found []scheduler.Token) {
	if len(m.tail) == m.longest && m.longest > 0 {
		m.tail = m.tail[:copy(m.tail, m.tail[1:])]
	}
	m.tail = append(m.tail, t)
	for _, s := range m.sequences {
		if n := len(m.tail) - len(s); n >= 0 && len(s) > len(found) && slices.Equal(m.tail[n:], s) {
			found = s
		}
	}
	if found != nil {
		m.reset()
	}
	return found
}

// Budget is a stage that ends an answer's thinking when its budget is used up, whatever the
// plugins behind it want. A chain without plugins needs none: its native stage does the same.
type Budget struct{ thinking *thinking }

var (
	_ chain.Stage    = (*Budget)(nil)
	_ chain.Preparer = (*Budget)(nil)
)

// NewBudget makes the stage; nil where the answer has no budget for thinking.
func (e *Engine) NewBudget(p sampling.Params) (*Budget, error) {
	if p.Thinking.Budget < 0 {
		return nil, nil
	}
	th, err := e.newThinking(p)
	if th == nil || err != nil {
		return nil, err
	}
	return &Budget{th}, nil
}

// Traits implements chain.Stage.
func (b *Budget) Traits() chain.Traits { return chain.Traits{Name: "reasoning-budget", Prepares: true} }

// Native implements chain.Stage.
func (b *Budget) Native() bool { return false }

// Prepare implements chain.Preparer.
func (b *Budget) Prepare() (chain.Prepared, error) {
	return chain.Prepared{Forced: b.thinking.force()}, nil
}

// Apply implements chain.Stage.
func (b *Budget) Apply(*chain.View) error { return nil }

// Accept implements chain.Stage.
func (b *Budget) Accept(t scheduler.Token) (chain.Effect, error) {
	b.thinking.accept(t)
	return chain.Effect{}, nil
}

// Reset implements chain.Stage.
func (b *Budget) Reset(history []scheduler.Token, prompt int) error {
	b.thinking.reset()
	for _, t := range history[prompt:] {
		b.thinking.accept(t)
	}
	return nil
}

// Close implements chain.Stage.
func (b *Budget) Close() error { return nil }
