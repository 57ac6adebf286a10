// SPDX-License-Identifier: MIT

// Package piece gives embeddings of pictures and sounds a place among tokens, so that whatever has to do with lists of tokens (prefixes, forks,
// cuts, copies, digests) has to do with pictures too.
//
// # Notes
//
//   - A piece is a run of embeddings that belong together: a picture has one or several. Each embedding, a row, takes a KV cell as a token does.
//   - A [Table] gives each row of a piece a token below 0. The same content has the same tokens as long as somebody holds them, and other
//     content has others, so lists of tokens are equal where what was computed is equal.
//   - A piece may take fewer positions than rows (M-RoPE counts a picture by its longer side), and is never cut: what was computed of a list of
//     tokens ends before a piece or after it.
package piece

import (
	"crypto/sha256"
	"errors"
	"math"
	"slices"
	"sync"
	"weak"
)

// Token is an index into the model's vocabulary, or below 0 a row of a piece.
type Token = int32

// Shape is what the scheduler knows of a piece without its numbers.
type Shape struct {
	Hash      [sha256.Size]byte // of the content and of all that decides the embeddings: the same hash, the same rows
	Rows      int               // embeddings, each of which takes a KV cell
	Positions int               // that they take; at most Rows
	Columns   int               // of a grid whose rows and columns are coordinates of positions; 0: row follows on row, each a position
	Whole     bool              // the rows see one another, so that one pass computes them all
}

// Piece is a shape with its numbers. Nobody writes to it.
type Piece struct {
	Shape
	Values []float32 // Rows times the model's width
}

// Table gives pieces their tokens. Its methods may be called from any goroutine.
type Table struct {
	mu     sync.RWMutex
	byHash map[[sha256.Size]byte]*entry
	order  []*entry // by first, ascending
	swept  int      // entries that the last Sweep left
}

type entry struct {
	shape Shape
	first Token
	piece weak.Pointer[Piece]
}

// NewTable makes an empty table.
func NewTable() *Table { return &Table{byHash: map[[sha256.Size]byte]*entry{}} }

// Errors of Add.
var (
	ErrFull  = errors.New("the table of pictures and sounds is full")
	ErrShape = errors.New("a picture or sound whose embeddings have no sound shape")
)

// Add returns the tokens of a piece, one for each row. Who adds it holds the piece itself as long as it is to be computed: the table does not.
func (t *Table) Add(p *Piece) ([]Token, error) {
	if p.Rows < 1 || p.Positions < 1 || p.Positions > p.Rows || p.Columns < 0 || p.Columns > p.Rows || p.Columns == 0 && p.Positions != p.Rows {
		return nil, ErrShape
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.byHash[p.Hash]
	if e == nil {
		first, at, ok := t.gap(p.Rows)
		if !ok {
			return nil, ErrFull
		}
		e = &entry{shape: p.Shape, first: first}
		t.byHash[p.Hash] = e
		t.order = slices.Insert(t.order, at, e)
	} else if e.shape != p.Shape {
		return nil, ErrShape
	}
	if e.piece.Value() == nil {
		e.piece = weak.Make(p)
	}
	tokens := make([]Token, p.Rows)
	for i := range tokens {
		tokens[i] = e.first + Token(i)
	}
	return tokens, nil
}

// gap finds room for so many tokens: behind all, as long as there is, else between two.
func (t *Table) gap(rows int) (first Token, at int, ok bool) {
	end := int64(math.MinInt32)
	if n := len(t.order); n > 0 {
		last := t.order[n-1]
		if end = int64(last.first) + int64(last.shape.Rows); end+int64(rows) <= 0 {
			return Token(end), n, true
		}
		end = math.MinInt32
	} else if end+int64(rows) <= 0 {
		return math.MinInt32, 0, true
	}
	for i, e := range t.order {
		if int64(e.first)-end >= int64(rows) {
			return Token(end), i, true
		}
		end = int64(e.first) + int64(e.shape.Rows)
	}
	return 0, 0, false
}

// find is the entry of a token; nil: it is none of a piece.
func (t *Table) find(token Token) *entry {
	if token >= 0 {
		return nil
	}
	at, found := slices.BinarySearchFunc(t.order, token, func(e *entry, token Token) int { return int(int64(e.first) - int64(token)) })
	if !found {
		at--
	}
	if at < 0 || int64(token) >= int64(t.order[at].first)+int64(t.order[at].shape.Rows) {
		return nil
	}
	return t.order[at]
}

// Shape tells of which piece a token is a row, and of which. Without such a piece, ok is false.
func (t *Table) Shape(token Token) (shape Shape, row int, ok bool) {
	if t == nil || token >= 0 {
		return Shape{}, 0, false
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	e := t.find(token)
	if e == nil {
		return Shape{}, 0, false
	}
	return e.shape, int(token - e.first), true
}

// Piece returns the piece of a token, with its numbers; nil: nobody holds it any more.
func (t *Table) Piece(token Token) *Piece {
	if t == nil || token >= 0 {
		return nil
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	if e := t.find(token); e != nil {
		return e.piece.Value()
	}
	return nil
}
