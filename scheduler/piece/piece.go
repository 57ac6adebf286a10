// SPDX-License-Identifier: MIT

// Package piece gives embeddings of pictures and sounds a place among tokens: each has a token
// below 0.
//
// So whatever has to do with lists of tokens (prefixes, forks, cuts, copies, digests) has to do
// with pictures too.
//
// # Notes
//
//   - A piece is a run of embeddings that belong together: a picture has one or several. Each
//     embedding, a row, takes a KV cell as a token does.
//   - A [Table] gives each row of a piece a token below 0. The same content has the same tokens as
//     long as somebody holds them, and other content has others, so lists of tokens are equal where
//     what was computed is equal.
//   - A piece may take fewer positions than rows (M-RoPE counts a picture by its longer side), and
//     is never cut: what was computed of a list of tokens ends before a piece or after it.
package piece

import (
	"cmp"
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
	floor  Token    // the first token there is
}

type entry struct {
	shape  Shape
	first  Token
	pieces []weak.Pointer[Piece] // those that were added and may live: one picture may have been encoded twice
}

// NewTable makes an empty table.
func NewTable() *Table { return &Table{byHash: map[[sha256.Size]byte]*entry{}, floor: math.MinInt32} }

// Errors of Add.
var (
	ErrFull  = errors.New("the table of pictures and sounds is full")
	ErrShape = errors.New("a picture or sound whose embeddings have no sound shape")
)

// Sound reports whether a piece may have the shape.
func (s *Shape) Sound() bool {
	return s.Rows >= 1 && s.Positions >= 1 && s.Positions <= s.Rows && s.Columns >= 0 && s.Columns <= s.Rows && (s.Columns > 0 || s.Positions == s.Rows)
}

// Add returns the tokens of a piece, one for each row. They are its own as long as the piece is
// held, or a conversation in the KV cache has them. Who adds it holds the piece itself as long as
// it is to be computed: the table does not. Errors: ErrFull, ErrShape.
func (t *Table) Add(p *Piece) ([]Token, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, err := t.add(&p.Shape)
	if err != nil {
		return nil, err
	}
	e.hold(p)
	return e.tokens(), nil
}

// Reserve is Add for a piece whose numbers nobody has, as one in a conversation that comes from a
// file. The tokens are its own once a conversation in the KV cache has them.
func (t *Table) Reserve(s Shape) ([]Token, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, err := t.add(&s)
	if err != nil {
		return nil, err
	}
	return e.tokens(), nil
}

// add is the entry of a shape.
func (t *Table) add(s *Shape) (*entry, error) {
	if !s.Sound() {
		return nil, ErrShape
	}
	e := t.byHash[s.Hash]
	if e == nil {
		first, at, ok := t.gap(s.Rows)
		if !ok {
			return nil, ErrFull
		}
		e = &entry{shape: *s, first: first}
		t.byHash[s.Hash] = e
		t.order = slices.Insert(t.order, at, e)
	} else if e.shape != *s {
		return nil, ErrShape
	}
	return e, nil
}

// hold has the entry stay as long as a piece lives.
func (e *entry) hold(p *Piece) {
	e.pieces = slices.DeleteFunc(e.pieces, func(held weak.Pointer[Piece]) bool { return held.Value() == nil || held.Value() == p })
	e.pieces = append(e.pieces, weak.Make(p))
}

// tokens are those of the rows.
func (e *entry) tokens() []Token {
	tokens := make([]Token, e.shape.Rows)
	for i := range tokens {
		tokens[i] = e.first + Token(i)
	}
	return tokens
}

// living is a piece with the numbers; nil: nobody holds one any more.
func (e *entry) living() *Piece {
	for _, held := range e.pieces {
		if p := held.Value(); p != nil {
			return p
		}
	}
	return nil
}

// gap finds room for so many tokens: behind all, as long as there is, else between two.
func (t *Table) gap(rows int) (first Token, at int, ok bool) {
	n, behind := len(t.order), int64(t.floor)
	if n > 0 {
		behind = int64(t.order[n-1].first) + int64(t.order[n-1].shape.Rows)
	}
	if behind+int64(rows) <= 0 {
		return Token(behind), n, true
	}
	end := int64(t.floor)
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
	at, found := slices.BinarySearchFunc(t.order, token, func(e *entry, token Token) int { return cmp.Compare(e.first, token) })
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
		return e.living()
	}
	return nil
}
