// SPDX-License-Identifier: MIT

package kvcache

import "slices"

// The books count tokens, each of which has a cell. The memory counts positions, of which a
// picture may take fewer than it has rows (package piece). The two are converted here, at each
// call of the memory. Of a list of tokens without such pictures they are the same.
//
// No piece is cut: what others use of a sequence, what is taken back of it and what is copied end
// at a border of pieces, which is before the piece where less is there than all of it.

// grid is a piece of a conversation that takes fewer positions than it has rows.
type grid struct {
	end   int // tokens up to its last row
	fewer int // how many positions fewer than tokens there are up to there
}

// border is the last place up to n where the conversation may be cut.
func (c *conversation) border(n int) int { return c.pieces.Border(c.tokens, n) }

// positions is how many positions the first n tokens take, which end at a border.
func (c *conversation) positions(n int) int {
	for i := len(c.grids) - 1; i >= 0; i-- {
		if g := c.grids[i]; g.end <= n {
			return n - g.fewer
		}
	}
	return n
}

// note notes the pieces that end with the last token.
func (c *conversation) note() {
	n := len(c.tokens)
	shape, row, ok := c.pieces.Shape(c.tokens[n-1])
	if !ok || row+1 < shape.Rows || shape.Positions == shape.Rows {
		return
	}
	before := n - c.positions(n)
	c.grids = append(c.grids, grid{n, before + shape.Rows - shape.Positions})
}

// cutGrids keeps the grids of the first n tokens.
func (c *conversation) cutGrids(n int) {
	for k := len(c.grids); k > 0 && c.grids[k-1].end > n; k-- {
		c.grids = c.grids[:k-1]
	}
}

// addGrids adds those of another conversation with the same first n tokens, which has more of them.
func (c *conversation) addGrids(other *conversation, n int) {
	has := 0
	if k := len(c.grids); k > 0 {
		has = c.grids[k-1].end
	}
	for _, g := range other.grids {
		if g.end > has && g.end <= n {
			c.grids = append(c.grids, g)
		}
	}
}

// Position is where the next token of the sequence goes. Within a grid, that is where the grid
// begins.
func (s *Sequence) Position() int {
	n := len(s.tokens)
	if n == 0 || s.tokens[n-1] >= 0 {
		return s.positions(n)
	}
	if shape, row, ok := s.pieces.Shape(s.tokens[n-1]); ok && shape.Columns > 0 && row+1 < shape.Rows {
		n -= row + 1
	}
	return s.positions(n)
}

// settle cuts an idle sequence, whose request has left it within a piece, before what is copied of
// it.
func (c *Cache) settle(s *Sequence) {
	if n := s.border(len(s.tokens)); n < len(s.tokens) {
		c.Truncate(s, n)
	}
}

// Conversations calls yield for the tokens of all that cache and archive hold. Nobody changes them.
func (c *Cache) Conversations(yield func([]Token) bool) {
	for _, s := range c.sequences {
		if !yield(s.tokens) {
			return
		}
	}
	for _, e := range c.archive.entries {
		if !yield(e.tokens) {
			return
		}
	}
	if e := c.copy.entry; e != nil && !slices.Contains(c.archive.entries, e) {
		yield(e.tokens)
	}
}
