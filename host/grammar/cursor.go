// SPDX-License-Identifier: MIT

package grammar

import branches "github.com/penstock/penstock/scheduler/program"

// Cursor is how far a text has come in a grammar, token by token: what a plugin opens, and what a
// program's branch follows. It is not for concurrent use.
type Cursor struct {
	in   *Grammar
	over *Vocabulary
	at   State
}

// Begin returns a cursor at the grammar's beginning.
func (g *Grammar) Begin(v *Vocabulary) *Cursor { return &Cursor{g, v, g.Start()} }

// Mask writes which tokens may come next: bit i of word i/32 for token i. mask has
// (vocabulary + 31) / 32 words. An error says that the grammar is too ambiguous to tell.
func (c *Cursor) Mask(mask []uint32) error { return c.in.Mask(c.at, c.over, mask) }

// MaskWithin is Mask without the tokens after which the text cannot be completed with so many
// tokens in all, the next one included. False: so many do not complete it, and the mask is empty.
func (c *Cursor) MaskWithin(tokens int, mask []uint32) (bool, error) {
	return c.in.MaskCompletable(c.at, c.over, tokens, mask)
}

// Rest is how many tokens complete the text at most; ended: nothing may follow.
func (c *Cursor) Rest() (tokens int, ended bool, err error) {
	tokens, err = c.in.Rest(c.at, c.over)
	return tokens, err == nil && tokens == 0 && c.in.Ended(c.at), err
}

// Accept moves on by a token. It is false, and nothing changes, if the token may not come next. A
// grammar that has become too ambiguous to follow accepts no token any more; Mask tells why.
func (c *Cursor) Accept(token int32) bool {
	to, fits, err := c.in.Token(c.at, c.over, token)
	if !fits || err != nil {
		return false
	}
	c.at = to
	return true
}

// After implements program.GrammarState: the cursor itself stays where it is.
func (c *Cursor) After(token int32) (branches.GrammarState, bool) {
	next := *c
	fits := next.Accept(token)
	return &next, fits
}

// Beginning returns where the grammar begins.
func (c *Cursor) Beginning() branches.GrammarState { return c.in.Begin(c.over) }
