// SPDX-License-Identifier: MIT

package engine

import (
	"cmp"
	"slices"

	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/scheduler"
	"github.com/penstock/penstock/scheduler/kvcache"
)

// placing is a backend that chooses which sequences are in use at the same time. Where every
// sequence has cells of its own, llama.cpp decodes sequences in one pass only if their numbers
// follow one another; padder fills the gaps.
type placing struct {
	*backend
	layout
}

// layout places requests so that those which decode are next to one another.
type layout struct {
	sequences int // in all
}

// longPrompt is the most tokens to compute with which a request is placed near those that decode.
// With more it will not decode for a while, and goes to the far end.
const longPrompt = 256

// Place implements kvcache.Placer. A request goes as near as possible to those that decode, and
// one with a long prompt as near as possible to the far end. Only the former may have to wait
// until the sequence has been saved: a gap between those that decode costs all of them time with
// each token.
func (l layout) Place(prefill int, running []kvcache.RunningSequence, idle []kvcache.IdleSequence) int32 {
	first, last, decoding := bounds(running)
	switch {
	case prefill > longPrompt:
		first, last, decoding = int32(l.sequences), int32(l.sequences), false
	case !decoding:
		first, last = 0, 0
	}
	return slices.MinFunc(idle, func(a, b kvcache.IdleSequence) int {
		nearer := cmp.Compare(away(a.Sequence, first, last), away(b.Sequence, first, last))
		saved := cmp.Compare(unsaved(a), unsaved(b))
		if decoding {
			return cmp.Or(nearer, saved)
		}
		return cmp.Or(saved, nearer)
	}).Sequence
}

// bounds are the first and the last of the running sequences that decode, or will soon, and
// whether there are any.
func bounds(running []kvcache.RunningSequence) (first, last int32, found bool) {
	for _, r := range running {
		switch {
		case r.Prefill > longPrompt:
		case !found:
			first, last, found = r.Sequence, r.Sequence, true
		default:
			first, last = min(first, r.Sequence), max(last, r.Sequence)
		}
	}
	return first, last, found
}

// away is how far a sequence is from those from first to last.
func away(sequence, first, last int32) int32 { return max(first-sequence, sequence-last, 0) }

// unsaved is 1 for a sequence that may have to be saved first.
func unsaved(i kvcache.IdleSequence) int {
	if i.Saved {
		return 0
	}
	return 1
}

// padder arranges a pass that only decodes. Where every sequence has cells of its own, llama.cpp
// computes sequences together only if their numbers follow one another, and some numbers of rows
// slowly. A padding token in each sequence between costs less than reading the weights once more;
// it is removed after the pass. Where tokens are drafted, a sequence has several rows, and each
// other is given as many.
type padder struct {
	together int // native.Model.TokensAtOnce: with 4, 7 rows take longer than 8

	plain  native.Batch  // the scheduler's columns
	padded native.Batch  // ordered by sequence, with padding
	batch  *native.Batch // the one of these that is to be computed
	order  []int         // the scheduler's rows by sequence
	rows   []int         // where each of the scheduler's rows is in the pass
	added  []padding
}

// padding are tokens from a position on that nobody asked for.
type padding struct {
	sequence int32
	position int
}

// take takes the batch as it is.
func (p *padder) take(b *scheduler.Batch) {
	p.plain = native.Batch{Tokens: b.Tokens, Positions: b.Positions, Sequences: b.Sequences, Outputs: b.Outputs}
	p.batch = &p.plain
	p.drop()
	for i := range b.Rows() {
		p.rows = append(p.rows, i)
	}
}

// drop forgets the pass before: there are no rows.
func (p *padder) drop() { p.added, p.rows = p.added[:0], p.rows[:0] }

// pad takes the batch and, if it only decodes, orders it and adds padding. length tells how many
// positions a sequence has.
func (p *padder) pad(b *scheduler.Batch, sequences, context int, length func(seq int32) int) {
	p.take(b)
	n := b.Len()
	if b.Rows() != n || n < 2 || b.PromptRows {
		return
	}
	p.order = append(p.order[:0], p.rows...)
	p.batch = &p.padded
	slices.SortFunc(p.order, func(i, j int) int {
		return cmp.Or(cmp.Compare(b.Sequences[i], b.Sequences[j]), cmp.Compare(b.Positions[i], b.Positions[j]))
	})
	low, high, each := b.Sequences[p.order[0]], b.Sequences[p.order[n-1]], p.mostOfOne(b)
	pays := int(high-low+1)*each <= 2*n // more padding than rows does not
	if pays && each == 1 {
		low, high = p.widen(low, high, sequences)
	}
	p.padded.Reset()
	next := 0
	for s := low; s <= high; s++ {
		rows, at := 0, -1
		for ; next < n && b.Sequences[p.order[next]] == s; next++ {
			i := p.order[next]
			p.rows[i] = next
			p.padded.Add(b.Tokens[i], b.Positions[i], s, true)
			rows, at = rows+1, int(b.Positions[i])+1
		}
		if !pays || rows == each {
			continue
		}
		if rows == 0 {
			at = length(s)
		}
		p.fill(s, at, each-rows, context)
	}
}

// fill adds n padding tokens to a sequence, if it has room for them.
func (p *padder) fill(sequence int32, at, n, context int) {
	if at+n > context {
		return
	}
	p.added = append(p.added, padding{sequence, at})
	for i := range n {
		p.padded.Add(0, int32(at+i), sequence, false)
	}
}

// mostOfOne is how many rows of one sequence a batch has, at most.
func (p *padder) mostOfOne(b *scheduler.Batch) (most int) {
	run := 0
	for k, i := range p.order {
		if k > 0 && b.Sequences[i] != b.Sequences[p.order[k-1]] {
			run = 0
		}
		run++
		most = max(most, run)
	}
	return most
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
