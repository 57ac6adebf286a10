// SPDX-License-Identifier: MIT

package engine

import (
	"fmt"
	"slices"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler"
)

// checkPiece refuses a pass over a piece that is not as scheduler.Batch says.
func checkPiece(b *scheduler.Batch) error {
	p, n := b.Piece, b.Len()
	if p == nil {
		return nil
	}
	grid := p.Columns > 0
	for i := range n {
		expected := b.Positions[0]
		if !grid {
			expected += int32(i)
		}
		if b.Sequences[i] != b.Sequences[0] || b.Positions[i] != expected || b.Outputs[i] {
			return fmt.Errorf("entry %d of a pass over embeddings is at position %d of sequence %d, with logits %v; the first is at %d of %d, and none has any",
				i, b.Positions[i], b.Sequences[i], b.Outputs[i], b.Positions[0], b.Sequences[0])
		}
	}
	if b.FirstRow < 0 || b.FirstRow+n > p.Rows || p.Whole && n != p.Rows || !grid && int(b.Positions[0]) < b.FirstRow {
		return fmt.Errorf("a pass over %d embeddings from %d on, at position %d, of a piece of %d (whole: %v)", n, b.FirstRow, b.Positions[0], p.Rows, p.Whole)
	}
	return nil
}

// perceive computes a pass over embeddings. It gives no rows.
func (b *backend) perceive(batch *scheduler.Batch) error {
	b.padder.drop()
	b.passes.rows = b.passes.rows[:0]
	p, seq, from := batch.Piece, batch.Sequences[0], batch.FirstRow
	start := batch.Positions[0]
	if p.Columns == 0 {
		start -= int32(from)
	}
	err := b.context.DecodeEmbeddings(&native.EmbeddingBatch{
		Piece:  native.Piece{Embeddings: p.Rows, Positions: p.Positions, Columns: p.Columns, Whole: p.Whole},
		Values: p.Values, From: from, To: from + batch.Len(), Position: start, Sequence: seq, DuringCopy: seq != b.context.CopyTarget(),
	})
	b.recurrent.perceived(seq, err)
	if err == nil && from+batch.Len() == p.Rows {
		b.settle(seq, int(start)+p.Positions)
	}
	return b.unlessLost(err)
}

// border is where a sequence ends whose last cells are those of a picture with coordinates: they
// all have the position at which it begins.
type border struct {
	last int32 // of the positions of cells
	next int   // position after the picture
}

// settle notes that a sequence has n positions.
func (b *backend) settle(seq int32, n int) {
	if _, last, err := b.context.Range(seq); err == nil {
		b.borders[seq] = border{last: int32(last), next: n}
		b.grids = b.grids || last+1 < n
	}
}

// spoken are the tokens of a history that are no rows of pieces, and how many of the prompt are
// among them: samplers, grammars and texts know nothing of pictures.
func spoken(history []scheduler.Token, prompt int) ([]scheduler.Token, int) {
	if !slices.ContainsFunc(history, isRow) {
		return history, prompt
	}
	words := make([]scheduler.Token, 0, len(history))
	n := prompt
	for i, t := range history {
		switch {
		case !isRow(t):
			words = append(words, t)
		case i < prompt:
			n--
		}
	}
	return words, n
}

// isRow reports whether a token is a row of a piece.
func isRow(t scheduler.Token) bool { return t < 0 }
