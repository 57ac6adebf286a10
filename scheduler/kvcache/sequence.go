// SPDX-License-Identifier: MIT

package kvcache

import (
	"math"
	"slices"
	"time"

	"github.com/penstock/penstock/scheduler/piece"
)

// Sequence is what the KV cache holds under one sequence number.
type Sequence struct {
	id       int32
	segments []*segment // of cells, one for each token
	conversation
	running  bool      // a request has it; else it is idle
	dropped  bool      // nobody is to go on with it
	unsure   bool      // the memory panicked while it changed the sequence: nobody knows what it holds until it was emptied
	prefill  int       // tokens that its request had to compute when it got the sequence, see RunningSequence.Prefill
	lastUse  uint64    // Cache.uses at that time
	rests    time.Time // since when no request has it, where there is a cold store
	archived *entry    // a copy of it in the archive; nil: there is none
	wanted   []int     // where its request wants checkpoints, ascending
}

// conversation is what a sequence and an entry of the archive hold alike.
type conversation struct {
	tokens      []Token
	pieces      *piece.Table  // of the rows among them
	grids       []grid        // ascending
	name        uint64        // by Cache.uses when its last request ended; 0: while a request has it
	scope       Scope         // of the request that computed it
	prompt      int           // how many of tokens were the last request's prompt
	checkpoints []*checkpoint // ascending
	continued   bool          // that request had all of the prompt before it; the archive keeps such a conversation longer
	offered     int           // how many tokens it had when the cold store was offered it, or had it; 0: it has changed since
	digests     []Digest      // of the first blocks of tokens, as far as Prefixes has come
}

// common is how many of a request's tokens the conversation begins with, as far as they are
// computed alike and no piece is cut.
func (c *conversation) common(tokens []Token, scope Scope) int {
	if c.scope.Salt != scope.Salt {
		return 0
	}
	return c.lastBorder(c.scope.Common(scope, CommonPrefix(c.tokens, tokens)))
}

// ID is the sequence's number in the memory.
func (s *Sequence) ID() int32 { return s.id }

// Len is how many tokens the sequence holds.
func (s *Sequence) Len() int { return len(s.tokens) }

// Conversation names what the sequence of a request that has ended holds, until another request
// has the sequence.
func (s *Sequence) Conversation() uint64 { return s.name }

// Continued reports whether the request that has the sequence continues a conversation: its prompt
// began with the whole prompt of the request before it.
func (s *Sequence) Continued() bool { return s.continued }

// isSaved reports whether nothing is lost when the sequence is evicted: it is of no use, or the
// archive has a copy.
func (s *Sequence) isSaved() bool { return s.isUseless() || s.dropped || s.archived != nil }

// isUseless reports whether no request can use anything of the sequence.
func (s *Sequence) isUseless() bool { return len(s.tokens) == 0 || s.unsure }

// unlink notes that sequence and archive no longer hold the same.
func (s *Sequence) unlink() {
	if s.archived != nil {
		s.archived.sequence, s.archived = nil, nil
	}
}

// Append records tokens that a forward pass computed after the sequence's last one. Reserve has
// freed the cells.
func (c *Cache) Append(s *Sequence, tokens []Token) {
	c.holdCells(s, len(tokens))
	for _, t := range tokens {
		s.tokens = append(s.tokens, t)
		if t < 0 {
			s.note()
		}
	}
}

// Truncate keeps the first n tokens of a sequence, or those before the piece that n lies within,
// or those up to its last checkpoint before if the memory cannot be cut there. It returns how many
// it kept.
func (c *Cache) Truncate(s *Sequence, n int) (kept int) {
	if n >= len(s.tokens) && !s.unsure {
		return len(s.tokens)
	}
	n = c.cutMemory(s, s.lastBorder(n))
	c.drop(s, n)
	if n == 0 {
		s.prompt, s.continued = 0, false
	}
	return n
}

// Rescope has what the sequence holds from now on be in another scope. What it holds stays as far
// as that is the same in both.
func (c *Cache) Rescope(s *Sequence, scope Scope) {
	c.Truncate(s, s.scope.Common(scope, len(s.tokens)))
	s.scope = scope
}

// changeMemory has the memory change what it holds of a sequence. If that panics, the sequence is
// of no use until it was emptied, and a copy in progress, which may read it, has failed.
func (c *Cache) changeMemory(s *Sequence, f func() error) error {
	s.unsure = true
	defer func() {
		if s.unsure {
			c.copyFailed()
		}
	}()
	err := f()
	s.unsure = false
	return err
}

// Repair makes memory and books agree again after a failed pass: the memory forgets what is not in
// the books, and the books what the memory has lost, and a piece of which only a part is there.
func (c *Cache) Repair(s *Sequence) {
	c.drop(s, c.cutMemory(s, s.lastBorder(len(s.tokens))))
}

// drop removes the tokens from n on from the books.
func (c *Cache) drop(s *Sequence, n int) {
	c.letGo(s, len(s.tokens)-n)
	s.tokens = s.tokens[:n]
	s.cutGrids(n)
	s.digests = s.digests[:min(len(s.digests), n/BlockTokens)]
	if n < s.offered {
		s.offered = 0
	}
	c.checkpoints.drop(&s.conversation, n)
	s.unlink()
}

// touch makes a sequence the most recently used one.
func (c *Cache) touch(s *Sequence) {
	c.uses++
	s.lastUse = c.uses
}

// Scope says with what cells are computed and for whom, besides the tokens: requests reuse one
// another's cells as far as both agree.
type Scope struct {
	Salt     string // chosen by the request
	Adapters string // names what computes them besides the model; "": nothing does
	From     int    // first position that Adapters compute: the cells before it are the model's own
}

// Common is how many of the first n cells, whose tokens are the same, are the same in both scopes.
func (s Scope) Common(other Scope, n int) int {
	switch {
	case s.Salt != other.Salt:
		return 0
	case s.Adapters == other.Adapters && s.from() == other.from():
		return n
	}
	return min(n, s.from(), other.from())
}

// from is the first position that is not the model's own.
func (s Scope) from() int {
	if s.Adapters == "" {
		return math.MaxInt
	}
	return s.From
}

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

// lastBorder is the last place up to n where the conversation may be cut.
func (c *conversation) lastBorder(n int) int { return c.pieces.Border(c.tokens, n) }

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

// cutToBorder cuts an idle sequence, whose request has left it within a piece, before what is
// copied of it.
func (c *Cache) cutToBorder(s *Sequence) {
	if n := s.lastBorder(len(s.tokens)); n < len(s.tokens) {
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

// segment is cells next to each other that the same sequences hold. The books count cells: which of
// the memory's they are, nobody asks. So a token adds one to a number, whatever the length of the
// sequence, and where sequences part a segment is split.
type segment struct {
	cells   int
	holders int    // sequences that have it
	seen    uint64 // Cache.counts when Evictable has counted it
}

// holdCells gives a sequence n cells more, which were free.
func (c *Cache) holdCells(s *Sequence, n int) {
	if n == 0 {
		return
	}
	c.free -= n
	if k := len(s.segments); k == 0 || s.segments[k-1].holders > 1 {
		s.segments = append(s.segments, &segment{holders: 1})
	}
	s.segments[len(s.segments)-1].cells += n
}

// letGo takes the last n cells from a sequence. Those that no other holds are free.
func (c *Cache) letGo(s *Sequence, n int) {
	for n > 0 {
		k := len(s.segments) - 1
		last := s.segments[k]
		switch {
		case last.cells > n && last.holders > 1:
			c.split(last, last.cells-n)
			continue
		case last.cells > n:
			last.cells -= n
			c.free += n
			return
		}
		n -= last.cells
		if last.holders--; last.holders == 0 {
			c.free += last.cells
		}
		s.segments[k] = nil
		s.segments = s.segments[:k]
	}
}

// shareCells has a sequence hold those cells of another that are between two places, too.
func (c *Cache) shareCells(src, dst *Sequence, from, to int) {
	for i, at := 0, 0; at < to; i++ {
		g := src.segments[i]
		if at < from && from < at+g.cells {
			c.split(g, from-at)
		}
		if to < at+g.cells {
			c.split(g, to-at)
		}
		if at >= from {
			g.holders++
			dst.segments = append(dst.segments, g)
		}
		at += g.cells
	}
}

// split leaves a segment its first n cells. All that hold it have the others after it.
func (c *Cache) split(g *segment, n int) {
	rest := &segment{cells: g.cells - n, holders: g.holders}
	g.cells = n
	for _, s := range c.sequences {
		if i := slices.Index(s.segments, g); i >= 0 {
			s.segments = slices.Insert(s.segments, i+1, rest)
		}
	}
}
