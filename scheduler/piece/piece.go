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
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
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
		first, at, ok := t.findGap(s.Rows)
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

// livingPiece is a piece with the numbers; nil: nobody holds one any more.
func (e *entry) livingPiece() *Piece {
	for _, held := range e.pieces {
		if p := held.Value(); p != nil {
			return p
		}
	}
	return nil
}

// findGap finds room for so many tokens: behind all, as long as there is, else between two.
func (t *Table) findGap(rows int) (first Token, at int, ok bool) {
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
		return e.livingPiece()
	}
	return nil
}

// Border is the last place up to n at which a list of tokens may be cut: n itself, or the
// beginning of the piece that n lies within.
func (t *Table) Border(tokens []Token, n int) int {
	if n <= 0 || n > len(tokens) || tokens[n-1] >= 0 {
		return n
	}
	if shape, row, ok := t.Shape(tokens[n-1]); ok && row+1 < shape.Rows {
		return max(n-row-1, 0)
	}
	return n
}

// BorderAfter is the first place from n on at which a list of whole pieces and tokens may be cut.
func (t *Table) BorderAfter(tokens []Token, n int) int {
	if n <= 0 || n > len(tokens) || tokens[n-1] >= 0 {
		return n
	}
	if shape, row, ok := t.Shape(tokens[n-1]); ok {
		return min(n+shape.Rows-row-1, len(tokens))
	}
	return n
}

// Positions is how many positions tokens and whole pieces take.
func (t *Table) Positions(tokens []Token) int {
	n := len(tokens)
	for i := 0; i < len(tokens); i++ {
		if tokens[i] >= 0 {
			continue
		}
		if shape, row, ok := t.Shape(tokens[i]); ok && row == 0 {
			n -= shape.Rows - shape.Positions
			i += shape.Rows - 1
		}
	}
	return n
}

// Errors of Check; compare with errors.Is.
var (
	ErrUnknown = errors.New("a token below 0 that is no row of a picture or a sound of the request")
	ErrCut     = errors.New("a picture or a sound that is not whole")
)

// Check calls each for every piece among some tokens. Their rows must be whole and in order. each
// tells whether the piece may stand there. Errors: ErrUnknown, ErrCut, and those of each.
func (t *Table) Check(tokens []Token, each func(Shape) error) error {
	for i := 0; i < len(tokens); i++ {
		token := tokens[i]
		if token >= 0 {
			continue
		}
		shape, row, ok := t.Shape(token)
		if !ok {
			return fmt.Errorf("%w: token %d at position %d", ErrUnknown, token, i)
		}
		if err := each(shape); err != nil {
			return fmt.Errorf("%w: token %d at position %d", err, token, i)
		}
		for k := range shape.Rows {
			if row != 0 || i+k >= len(tokens) || tokens[i+k] != token+Token(k) {
				return fmt.Errorf("%w: token %d at position %d is row %d of %d, and %d rows follow each other there", ErrCut, token, i, row, shape.Rows, k)
			}
		}
		i += shape.Rows - 1
	}
	return nil
}

// Word stands for a token where the numbers of this process say nothing. It is the same for the
// same content: for row i of a piece, the word i mod 8 of its hash, little-endian, with the
// highest bit set; any other token itself.
func (t *Table) Word(token Token) uint32 {
	shape, row, ok := t.Shape(token)
	if !ok {
		return uint32(token)
	}
	return shape.word(row)
}

// word is Table.Word of a row.
func (s *Shape) word(row int) uint32 {
	return binary.LittleEndian.Uint32(s.Hash[4*(row%(sha256.Size/4)):]) | 1<<31
}

// Words puts the words of pieces (Table.Word) into a list of tokens, in the place of tokens that
// this process, or this time, has for them.
func Words(tokens []Token, placed []Placed) {
	for i := range placed {
		p := &placed[i]
		for row := range min(p.Rows, len(tokens)-p.At) {
			tokens[p.At+row] = Token(p.word(row))
		}
	}
}

// Positions is how many positions the first n tokens of a list take in which pieces are placed.
func Positions(placed []Placed, n int) int {
	positions := n
	for i := range placed {
		if p := &placed[i]; p.At < n {
			positions -= p.Rows - p.Positions
		}
	}
	return positions
}

// Placed is a piece in a list of tokens, for who does not have its tokens.
type Placed struct {
	At int // of its first row
	Shape
}

// Locate are the pieces in a list of tokens and whole pieces.
func (t *Table) Locate(tokens []Token) (placed []Placed) {
	for i := 0; i < len(tokens); i++ {
		if tokens[i] >= 0 {
			continue
		}
		if shape, row, ok := t.Shape(tokens[i]); ok {
			placed = append(placed, Placed{i - row, shape})
			i += shape.Rows - row - 1
		}
	}
	return placed
}

// Put writes the tokens of pieces into a list of tokens, in which all others are at least 0.
// Errors: ErrFull, ErrShape, ErrCut for pieces that do not fit into the list.
func (t *Table) Put(tokens []Token, placed []Placed) error {
	end := 0
	for i := range placed {
		p := &placed[i]
		if !p.Sound() {
			return ErrShape
		}
		if p.At < end || p.At > len(tokens) || p.Rows > len(tokens)-p.At {
			return fmt.Errorf("%w: %d rows at position %d of %d tokens", ErrCut, p.Rows, p.At, len(tokens))
		}
		rows, err := t.Reserve(p.Shape)
		if err != nil {
			return err
		}
		end = p.At + copy(tokens[p.At:], rows)
	}
	return nil
}

// leastSwept is how many entries a table has at least before it is swept.
const leastSwept = 64

// Due reports whether the table has twice as many entries as the last sweep left: it is time for
// another.
func (t *Table) Due() bool {
	if t == nil {
		return false
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.order) >= max(leastSwept, 2*t.swept)
}

// Sweep drops what nobody has any more: no living piece, and none of some lists of tokens. A
// thousand tokens take microseconds.
func (t *Table) Sweep(lists iter.Seq[[]Token]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	had := make(map[*entry]bool, len(t.order))
	for tokens := range lists {
		for i := 0; i < len(tokens); i++ {
			if tokens[i] >= 0 {
				continue
			}
			if e := t.find(tokens[i]); e != nil {
				had[e] = true
				i += e.shape.Rows - int(tokens[i]-e.first) - 1
			}
		}
	}
	t.order = slices.DeleteFunc(t.order, func(e *entry) bool {
		if had[e] || e.livingPiece() != nil {
			return false
		}
		delete(t.byHash, e.shape.Hash)
		return true
	})
	t.swept = len(t.order)
}
