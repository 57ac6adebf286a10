// SPDX-License-Identifier: MIT

package schedulertest

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/piece"
)

// width is how many numbers an embedding has.
const width = 2

// NewPiece makes a picture that is the same for the same name and shape. Its hash is set.
func NewPiece(name string, s piece.Shape) *piece.Piece {
	s.Hash = sha256.Sum256(fmt.Append(nil, name, s.Rows, s.Positions, s.Columns, s.Whole))
	p := &piece.Piece{Shape: s, Values: make([]float32, s.Rows*width)}
	for row := range s.Rows {
		for i := range width {
			p.Values[row*width+i] = value(&p.Shape, row)
		}
	}
	return p
}

// value is what all numbers of an embedding are.
func value(s *piece.Shape, row int) float32 {
	h := binary.LittleEndian.Uint64(s.Hash[:]) ^ uint64(row)*0x9E3779B97F4A7C15
	return float32((h * 0xD6E8FEB86659FD93) >> 40)
}

// spot is where a cell of a sequence is.
type spot struct {
	next      int32 // the position after it, and after all of its piece if that is a grid
	row, rows int32 // of a piece; 0 of 1: of a token
	id        uint32
	begin     int32 // of a grid, the position that all its rows have
	grid      bool
}

// whole reports whether a sequence may be cut after the cell.
func (s *spot) whole() bool { return s.row+1 == s.rows }

// spotOf is where entry i of a batch is.
func spotOf(batch *scheduler.Batch, i int) spot {
	at := batch.Positions[i]
	p := batch.Piece
	if p == nil {
		return spot{next: at + 1, rows: 1}
	}
	s := spot{next: at + 1, row: int32(batch.FirstRow + i), rows: int32(p.Rows), id: binary.LittleEndian.Uint32(p.Hash[:]), begin: at, grid: p.Columns > 0}
	if s.grid {
		s.next = at + int32(p.Positions)
	}
	return s
}

// follows is why a spot cannot come after those of a sequence; nil: it can.
func (b *Backend) follows(seq, at int32, s spot) error {
	last := spot{rows: 1}
	if n := len(b.spots[seq]); n > 0 {
		last = b.spots[seq][n-1]
	}
	switch want := last.next; {
	case last.whole() && s.row != 0:
		return fmt.Errorf("row %d of a piece comes first in sequence %d", s.row, seq)
	case !last.whole() && (s.id != last.id || s.row != last.row+1):
		return fmt.Errorf("row %d of %d in sequence %d, which has %d of %d rows of a piece", s.row, s.rows, seq, last.row+1, last.rows)
	case !last.whole() && last.grid:
		if at != last.begin {
			return fmt.Errorf("row %d of a grid is at position %d of sequence %d, where it begins at %d", s.row, at, seq, last.begin)
		}
	case at != want:
		return fmt.Errorf("a token at position %d of sequence %d, which has %d", at, seq, want)
	}
	return nil
}

// have is how many positions a sequence has. A grid counts once it is whole.
func have(spots []spot) int {
	n := len(spots)
	if n == 0 {
		return 0
	}
	if s := spots[n-1]; s.whole() || !s.grid {
		return int(s.next)
	}
	return int(spots[n-1].begin)
}

// cells is how many of some spots the first n positions are. It panics if that cuts a piece.
func cells(spots []spot, n int) int {
	at := int32(n)
	k := sort.Search(len(spots), func(i int) bool { return spots[i].next > at })
	if k > 0 && spots[k-1].next == at && !spots[k-1].whole() {
		panic(fmt.Sprintf("cut to %d positions, within a piece after its row %d of %d", n, spots[k-1].row, spots[k-1].rows))
	}
	if k < len(spots) && (k == 0 && n != 0 || k > 0 && spots[k-1].next != at) {
		panic(fmt.Sprintf("cut to %d positions, of which a piece takes more than one", n))
	}
	return k
}

// checkBatch is why a batch is none that can be computed.
func checkBatch(batch *scheduler.Batch) error {
	p := batch.Piece
	if p == nil {
		for i, t := range batch.Tokens {
			if t < 0 {
				return fmt.Errorf("token %d of the pass is %d, and there is no piece", i, t)
			}
		}
		return nil
	}
	n := batch.Len()
	switch {
	case batch.FirstRow < 0 || batch.FirstRow+n > p.Rows:
		return fmt.Errorf("rows %d to %d of a piece of %d", batch.FirstRow, batch.FirstRow+n, p.Rows)
	case p.Whole && n != p.Rows:
		return fmt.Errorf("%d of %d rows that see one another", n, p.Rows)
	case len(p.Values) != p.Rows*width || len(batch.HiddenStates) > 0 || batch.PromptRows || batch.Rows() > 0:
		return fmt.Errorf("a pass over a piece with %d numbers and %d rows of logits", len(p.Values), batch.Rows())
	}
	for i := range n {
		row := batch.FirstRow + i
		if batch.Sequences[i] != batch.Sequences[0] || batch.Tokens[i] >= 0 || p.Columns > 0 && batch.Positions[i] != batch.Positions[0] ||
			p.Values[row*width] != value(&p.Shape, row) {
			return fmt.Errorf("row %d of a piece in sequence %d at position %d as token %d", row, batch.Sequences[i], batch.Positions[i], batch.Tokens[i])
		}
	}
	return nil
}

// word is what a token of a history counts as.
func (b *Backend) word(t scheduler.Token) uint64 {
	if shape, row, ok := b.Pieces.Shape(t); ok {
		return wordOf(value(&shape, row))
	}
	return uint64(t)
}

func wordOf(embedding float32) uint64 { return uint64(math.Float32bits(embedding)) | 1<<33 }

// Album is some pictures of all kinds, with their tokens.
type Album struct {
	Pieces []*piece.Piece
	Tokens [][]scheduler.Token
}

// NewAlbum puts n pictures into the backend's table, of at most rows rows each.
func (b *Backend) NewAlbum(rng *rand.Rand, n, rows int) (a Album) {
	for i := range n {
		s := piece.Shape{Rows: 1 + rng.IntN(rows)}
		switch s.Positions = s.Rows; i % 4 {
		case 1:
			s.Columns = 1 + rng.IntN(s.Rows)
			s.Positions = 1 + rng.IntN(s.Rows)
		case 2:
			s.Whole = true
		case 3: // as a tall one
			s.Columns, s.Positions, s.Whole = 1, max(1, s.Rows/3), rng.IntN(2) == 0
		}
		p := NewPiece(fmt.Sprint("picture ", i), s)
		tokens, err := b.Pieces.Add(p)
		if err != nil {
			panic(err)
		}
		a.Pieces, a.Tokens = append(a.Pieces, p), append(a.Tokens, tokens)
	}
	return a
}

// Into puts pictures into a prompt of text, which stays text at its end: several, adjacent ones,
// and the same ones twice.
func (a *Album) Into(rng *rand.Rand, text []scheduler.Token, n int) []scheduler.Token {
	for range n {
		at := rng.IntN(len(text))
		for at > 0 && text[at] < 0 && text[at-1] < 0 { // not into another one
			at--
		}
		text = slices.Insert(slices.Clone(text), at, a.Tokens[rng.IntN(len(a.Tokens))]...)
	}
	return text
}
