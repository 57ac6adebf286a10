// SPDX-License-Identifier: MIT

package program

import (
	"errors"
	"fmt"
	"slices"

	"github.com/penstock/penstock/scheduler/chain"
)

// GrammarState is how far a text has come in a grammar. It does not change, and may be asked by
// several goroutines.
type GrammarState interface {
	// Mask writes which tokens may come next: bit i of word i/32 for token i. An error says why
	// nobody can tell.
	Mask(mask []uint32) error
	// After is the state after a token; false: it may not come next.
	After(t Token) (GrammarState, bool)
}

// following is a branch's way through a grammar.
type following struct {
	from   int            // where in the branch it began
	states []GrammarState // after so many tokens since then
}

// Follow has the branch follow a grammar from here on, from a state of it; nil: none any more.
// What is read of its rows, and what is drawn, are only tokens that the grammar allows. Errors:
// ErrMisuse.
func (b *Branch) Follow(p GrammarState) error {
	if err := b.whyUnusable(); err != nil {
		return err
	}
	b.releaseSamplers() // they know none, or another
	b.follows, b.masked = nil, false
	if p != nil {
		b.follows = &following{len(b.tokens), []GrammarState{p}}
	}
	return nil
}

// Follows reports whether the branch follows a grammar, and how many of its tokens do.
func (b *Branch) Follows() (tokens int, is bool) {
	if b.follows == nil {
		return 0, false
	}
	return len(b.tokens) - b.follows.from, true
}

// fork is the same way for another branch.
func (f *following) fork() *following {
	if f == nil {
		return nil
	}
	return &following{f.from, slices.Clone(f.states)}
}

// cut notes that the branch has only n tokens.
func (f *following) cut(n int) {
	if f != nil {
		f.from = min(f.from, n)
		f.states = f.states[:min(len(f.states), n-f.from+1)]
	}
}

// fits checks that tokens that are to be appended to a branch fit the grammar.
func (b *Branch) fits(tokens []Token) error {
	if b.follows == nil {
		return nil
	}
	state, err := b.grammarPosition()
	if err != nil {
		return err
	}
	at := len(b.follows.states)
	for _, t := range tokens {
		var next GrammarState
		fits := t >= 0 // no grammar has pictures
		if fits {
			next, fits = state.After(t)
		}
		if !fits {
			b.follows.states = b.follows.states[:at]
			return fmt.Errorf("%w: token %d does not fit the branch's grammar", ErrMisuse, t)
		}
		state = next
		b.follows.states = append(b.follows.states, state)
	}
	return nil
}

var errLeft = errors.New("the branch's tokens have left its grammar")

// grammarPosition is where in its grammar the branch is. What it has drawn by itself is followed
// now.
func (b *Branch) grammarPosition() (GrammarState, error) {
	f := b.follows
	for len(f.states) <= len(b.tokens)-f.from {
		next, fits := f.states[len(f.states)-1].After(b.tokens[f.from+len(f.states)-1])
		if !fits {
			return nil, errLeft
		}
		f.states = append(f.states, next)
	}
	return f.states[len(f.states)-1], nil
}

// narrow takes the tokens out of the branch's row that its grammar does not allow, once for each
// row.
func (b *Branch) narrow() error {
	if b.follows == nil || b.masked {
		return nil
	}
	state, err := b.grammarPosition()
	if err != nil {
		return err
	}
	words := make([]uint32, (b.run.options.Vocabulary+31)/32)
	if err := state.Mask(words); err != nil {
		return fmt.Errorf("the branch's grammar: %w", err)
	}
	row, err := b.row.masked(words, b.run.options)
	if err == nil {
		b.row, b.masked = row, true
	}
	return err
}

// grammarStage has a chain draw only what a branch's grammar allows.
type grammarStage struct {
	at    GrammarState
	words []uint32
}

// Traits implements chain.Stage.
func (*grammarStage) Traits() chain.Traits { return chain.Traits{Name: "grammar", Prepares: true} }

// Native implements chain.Stage: no.
func (*grammarStage) Native() bool { return false }

// Prepare implements chain.Preparer.
func (g *grammarStage) Prepare() (chain.Prepared, error) {
	if err := g.at.Mask(g.words); err != nil {
		return chain.Prepared{}, fmt.Errorf("a branch's grammar: %w", err)
	}
	return chain.Prepared{Mask: g.words}, nil
}

// Apply implements chain.Stage.
func (*grammarStage) Apply(*chain.View) error { return nil }

// Accept implements chain.Stage. What does not fit was not drawn: the branch sets the state anew.
func (g *grammarStage) Accept(t Token) (chain.Effect, error) {
	if next, fits := g.at.After(t); fits {
		g.at = next
	}
	return chain.Effect{}, nil
}

// Reset implements chain.Stage: the branch knows the state.
func (*grammarStage) Reset([]Token, int) error { return nil }

// Close implements chain.Stage.
func (*grammarStage) Close() error { return nil }
