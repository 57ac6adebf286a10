// SPDX-License-Identifier: MIT

package program

import (
	"fmt"
	"math"
)

// This file changes rows. A changed row is the branch's own, and that of forks that are made of it
// afterwards.

// Mask makes tokens impossible in the row: bit i of word i/32 set leaves token i. Tokens that are
// appended to the row are scored as before. Errors: ErrOver, ErrMisuse without a row and for
// another number of words than the vocabulary has.
func (b *Branch) Mask(words []uint32) error {
	if err := b.readable(); err != nil {
		return err
	}
	if want := (b.run.options.Vocabulary + 31) / 32; len(words) != want {
		return fmt.Errorf("%w: a mask of %d words, the vocabulary has %d", ErrMisuse, len(words), want)
	}
	row, err := b.row.masked(words, b.run.options)
	if err == nil {
		b.row = row
	}
	return err
}

// readable is why the branch's row cannot be read; nil: it can.
func (b *Branch) readable() error {
	if err := b.usable(); err != nil {
		return err
	}
	if b.row == nil {
		return errNoRow
	}
	return b.narrow()
}

// masked is the row without the tokens that a mask leaves out.
func (r *Row) masked(words []uint32, o Options) (*Row, error) {
	sum := r.sum
	if sum == nil {
		said, err := r.summary(0, o.Summarizer)
		if err != nil {
			return nil, err
		}
		sum = &said.LogSum
	}
	to := &Row{logits: make([]float32, o.Vocabulary), sum: sum, narrow: true}
	return to, r.read(func(logits []float32) { o.Masker.MaskRow(to.logits, logits, words) })
}

// Weighted is a branch's row in a sum.
type Weighted struct {
	Branch *Branch
	Weight float32
}

// Mix makes the row a sum of rows with weights, which are finite. A token that is impossible in a
// row whose weight is not 0 is impossible. Tokens that are appended to it are scored by it.
// Errors: ErrOver, ErrMisuse.
func (b *Branch) Mix(rows []Weighted) error {
	if err := b.readable(); err != nil {
		return err
	}
	sum := &Row{logits: make([]float32, b.run.options.Vocabulary), narrow: true}
	for _, w := range rows {
		if math.IsNaN(float64(w.Weight)) || math.IsInf(float64(w.Weight), 0) {
			return fmt.Errorf("%w: a row is weighted with %v", ErrMisuse, w.Weight)
		}
		if err := w.Branch.readable(); err != nil {
			return err
		}
		if w.Weight == 0 {
			continue
		}
		if err := w.Branch.row.read(func(logits []float32) { add(sum.logits, logits, w.Weight) }); err != nil {
			return err
		}
	}
	b.row = sum
	return nil
}

// add adds a row with a weight to a sum.
func add(sum, row []float32, weight float32) {
	sum = sum[:len(row)]
	for t, l := range row {
		if l == impossible || sum[t] == impossible {
			sum[t] = impossible
		} else {
			sum[t] = min(max(sum[t]+weight*l, -math.MaxFloat32), math.MaxFloat32)
		}
	}
}
