// SPDX-License-Identifier: MIT

package drive

import (
	"context"
	"errors"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/scheduler/program"
)

// Grammars is a made-up engine for a vocabulary: every text but the empty one is a grammar, which
// allows the odd or the even tokens.
type Grammars struct{ Words *Words }

// Open implements plugin.Grammars.
func (e Grammars) Open(_ context.Context, _ string, _ int32, text string) (plugin.Grammar, uint64, error) {
	if text == "" {
		return nil, 0, errors.New("the text is empty")
	}
	return &grammar{words: e.Words}, 0, nil
}

// grammar allows the tokens that are odd or even as its place is, which the tokens so far
// determine.
type grammar struct {
	words *Words
	place int32
}

func (g *grammar) allows(token int32) bool { return token%2 == g.place%2 }

// Mask implements plugin.Grammar.
func (g *grammar) Mask(mask []uint32) error {
	clear(mask)
	for t := range int32(g.words.Size()) {
		if g.allows(t) {
			mask[t/32] |= 1 << (t % 32)
		}
	}
	return nil
}

// MaskWithin implements plugin.Grammar: the text is never long.
func (g *grammar) MaskWithin(tokens int, mask []uint32) (bool, error) {
	if tokens < 1 {
		clear(mask)
		return false, nil
	}
	return true, g.Mask(mask)
}

// Rest implements plugin.Grammar: any token completes the text.
func (*grammar) Rest() (tokens int, ended bool, err error) { return 1, false, nil }

// Accept implements plugin.Grammar.
func (g *grammar) Accept(token int32) bool {
	if !g.allows(token) {
		return false
	}
	g.place += 1 + token/2
	return true
}

// Beginning implements plugin.Grammar.
func (g *grammar) Beginning() program.GrammarState { return state{words: g.words} }

// Close implements plugin.Grammar.
func (*grammar) Close() error { return nil }

// state is the place of a branch.
type state grammar

// Mask implements program.GrammarState.
func (s state) Mask(mask []uint32) error { return (*grammar)(&s).Mask(mask) }

// After implements program.GrammarState.
func (s state) After(t program.Token) (program.GrammarState, bool) {
	fits := (*grammar)(&s).Accept(t)
	return s, fits
}
