// SPDX-License-Identifier: MIT

package engine

import (
	"cmp"
	"slices"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler"
)

// filler arranges a pass that only decodes. Where every sequence has cells of its own, llama.cpp computes sequences
// together only if their numbers follow one another, and odd numbers of rows slowly. A token of no consequence in each
// sequence between costs less than reading the weights once more; it is taken back after the pass.
type filler struct {
	together int // native.Model.RowsTogether: with 4, 7 rows take longer than 8

	shared native.Batch // the scheduler's columns
	own    native.Batch // with fillers
	order  []int        // the scheduler's rows by sequence
	rows   []int        // where each of the scheduler's rows is in the pass
	used   []fill
	batch  *native.Batch // to decode
}

// fill is a token of no consequence.
type fill struct {
	sequence int32
	position int
}

// plain takes the batch as it is.
func (f *filler) plain(b *scheduler.Batch) {
	f.shared = native.Batch{Tokens: b.Tokens, Positions: b.Positions, Sequences: b.Sequences, Outputs: b.Outputs}
	f.batch = &f.shared
	f.used, f.rows = f.used[:0], f.rows[:0]
	for i := range b.Rows() {
		f.rows = append(f.rows, i)
	}
}

// arrange orders a batch that only decodes and adds the fillers. length tells how many positions a sequence has.
func (f *filler) arrange(b *scheduler.Batch, sequences, context int, length func(seq int32) int) {
	f.plain(b)
	n := b.Len()
	if b.Rows() != n || n < 2 {
		return
	}
	f.order = append(f.order[:0], f.rows...)
	f.batch = &f.own
	slices.SortFunc(f.order, func(i, j int) int { return cmp.Compare(b.Sequences[i], b.Sequences[j]) })
	low, high := b.Sequences[f.order[0]], b.Sequences[f.order[n-1]]
	fills := int(high-low)+1 <= 2*n // more fillers than rows do not pay
	if fills {
		low, high = f.widen(low, high, sequences)
	}
	f.own.Reset()
	next := 0
	for s := low; s <= high; s++ {
		if next < n && b.Sequences[f.order[next]] == s {
			i := f.order[next]
			f.rows[i] = next
			f.own.Add(b.Tokens[i], b.Positions[i], s, true)
			next++
		} else if at := length(s); fills && at < context {
			f.own.Add(0, int32(at), s, false)
			f.used = append(f.used, fill{s, at})
		}
	}
}

// widen extends the sequences from low to high to a number that is computed well.
func (f *filler) widen(low, high int32, sequences int) (int32, int32) {
	for int(high-low+1)%f.together != 0 {
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
