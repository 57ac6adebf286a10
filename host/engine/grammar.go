// SPDX-License-Identifier: MIT

package engine

import (
	"context"
	"errors"
	"strings"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/host/grammar/gbnf"
	"github.com/penstock/penstock/host/grammar/schema"
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/plugins/abi"
	"github.com/penstock/penstock/scheduler/program"
)

// Grammar is a grammar that a plugin opened, with its place in it. Its methods do not run
// concurrently. Branches that follow it end before it is closed, as the plugin's instance does.
type Grammar struct {
	kept   *keptGrammar
	is     *grammar.Grammar // nil: closed
	tokens *grammar.Vocabulary
	here   grammar.State
}

// NewGrammar reads text of one of the plugin ABI's kinds. An error is the text's fault and says
// what is wrong. Reading stops when ctx is done. work is about how many instructions it takes,
// whether or not the text was known already.
func (e *Engine) NewGrammar(ctx context.Context, kind int32, text string) (_ *Grammar, work uint64, err error) {
	var g *keptGrammar
	if kind == abi.GrammarJSONSchema {
		g, err = e.ofSchema(ctx, text, schema.Options{})
	} else if g, err = e.ofGBNF(ctx, text); err != nil {
		err = errors.New(strings.TrimPrefix(err.Error(), gbnf.ErrInvalid.Error()+": "))
	}
	if err != nil {
		return nil, g.work, err
	}
	return &Grammar{kept: g, is: g.is, tokens: e.tokens(), here: g.is.Start()}, g.work, nil
}

// Mask writes which tokens may come next: bit i of word i/32 for token i. mask has
// (vocabulary + 31) / 32 words. An error says that the grammar is too ambiguous to tell.
func (g *Grammar) Mask(mask []uint32) error {
	if g.is == nil {
		return native.ErrClosed
	}
	return g.is.Mask(g.here, g.tokens, mask)
}

// MaskWithin is Mask without the tokens after which the text cannot be completed with so many
// tokens in all, the next one included. False: so many do not complete it, and the mask is empty.
func (g *Grammar) MaskWithin(tokens int, mask []uint32) (bool, error) {
	if g.is == nil {
		return false, native.ErrClosed
	}
	return g.is.MaskCompletable(g.here, g.tokens, tokens, mask)
}

// Rest is how many tokens complete the text at most; ended: nothing may follow.
func (g *Grammar) Rest() (tokens int, ended bool, err error) {
	if g.is == nil {
		return 0, false, native.ErrClosed
	}
	tokens, err = g.is.Rest(g.here, g.tokens)
	return tokens, err == nil && tokens == 0 && g.is.Ended(g.here), err
}

// Accept moves on by a token. It is false, and nothing changes, if the token may not come next or
// the grammar was closed. A grammar that has become too ambiguous to follow accepts no token any
// more; Mask tells why.
func (g *Grammar) Accept(token int32) bool {
	if g.is == nil {
		return false
	}
	to, fits, err := g.is.Token(g.here, g.tokens, token)
	if !fits || err != nil {
		return false
	}
	g.here = to
	return true
}

// Beginning is where the grammar begins; nil: it was closed.
func (g *Grammar) Beginning() program.GrammarState {
	if g.is == nil {
		return nil
	}
	return grammarState{g.is, g.tokens, g.is.Start()}
}

// grammarState is how far a text has come in a grammar that a program's branch follows.
type grammarState struct {
	is     *grammar.Grammar
	tokens *grammar.Vocabulary
	here   grammar.State
}

// Mask implements program.GrammarState.
func (p grammarState) Mask(mask []uint32) error { return p.is.Mask(p.here, p.tokens, mask) }

// After implements program.GrammarState. A grammar that has become too ambiguous to follow has no
// token that fits.
func (p grammarState) After(t int32) (program.GrammarState, bool) {
	to, fits, err := p.is.Token(p.here, p.tokens, t)
	if !fits || err != nil {
		return nil, false
	}
	p.here = to
	return p, true
}

// Close ends its use.
func (g *Grammar) Close() error {
	if g.is == nil {
		return native.ErrClosed
	}
	g.kept.release()
	g.kept, g.is, g.here = nil, nil, grammar.State{}
	return nil
}
