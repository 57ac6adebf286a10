// SPDX-License-Identifier: MIT

package piece

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

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
	return binary.LittleEndian.Uint32(shape.Hash[4*(row%(sha256.Size/4)):]) | 1<<31
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
