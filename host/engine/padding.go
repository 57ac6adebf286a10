// SPDX-License-Identifier: MIT

package engine

import (
	"cmp"
	"slices"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler"
)

// padder arranges a pass that only decodes. Where every sequence has cells of its own, llama.cpp computes sequences
// together only if their numbers follow one another, and some numbers of rows slowly. A padding token in each sequence
// between costs less than reading the weights once more; it is removed after the pass.
type padder struct {
	together int // native.Model.TokensAtOnce: with 4, 7 rows take longer than 8

	plain  native.Batch  // the scheduler's columns
	padded native.Batch  // ordered by sequence, with padding
	batch  *native.Batch // the one of these that is to be computed
	order  []int         // the scheduler's rows by sequence
	rows   []int         // where each of the scheduler's rows is in the pass
	added  []padding
}

// padding is a token that nobody asked for.
type padding struct {
	sequence int32
	position int
}

// take takes the batch as it is.
func (p *padder) take(b *scheduler.Batch) {
	p.plain = native.Batch{Tokens: b.Tokens, Positions: b.Positions, Sequences: b.Sequences, Outputs: b.Outputs}
	p.batch = &p.plain
	p.added, p.rows = p.added[:0], p.rows[:0]
	for i := range b.Rows() {
		p.rows = append(p.rows, i)
	}
}

// pad takes the batch and, if it only decodes, orders it and adds padding. length tells how many positions a sequence has.
func (p *padder) pad(b *scheduler.Batch, sequences, context int, length func(seq int32) int) {
	p.take(b)
	n := b.Len()
	if b.Rows() != n || n < 2 {
		return
	}
	p.order = append(p.order[:0], p.rows...)
	p.batch = &p.padded
	slices.SortFunc(p.order, func(i, j int) int { return cmp.Compare(b.Sequences[i], b.Sequences[j]) })
	low, high := b.Sequences[p.order[0]], b.Sequences[p.order[n-1]]
	pays := int(high-low)+1 <= 2*n // more padding than rows does not
	if pays {
		low, high = p.widen(low, high, sequences)
	}
	p.padded.Reset()
	next := 0
	for s := low; s <= high; s++ {
		if next < n && b.Sequences[p.order[next]] == s {
			i := p.order[next]
			p.rows[i] = next
			p.padded.Add(b.Tokens[i], b.Positions[i], s, true)
			next++
		} else if at := length(s); pays && at < context {
			p.padded.Add(0, int32(at), s, false)
			p.added = append(p.added, padding{s, at})
		}
	}
}

// widen extends the sequences from low to high to a number that is computed well.
func (p *padder) widen(low, high int32, sequences int) (int32, int32) {
	for int(high-low+1)%p.together != 0 {
		switch {
		case int(high) < sequences-1:
			high++
		case low > 0:
			low--
		default:
			return low, high
		}
	}
	return low, high
}
