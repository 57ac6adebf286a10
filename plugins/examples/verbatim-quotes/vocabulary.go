// SPDX-License-Identifier: MIT

package main

import (
	"slices"

	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// vocabulary is the model's tokens in the order of their bytes, so that those that begin alike are
// neighbours.
type vocabulary struct {
	pieces *penstock.Vocabulary
	tokens []penstock.Token // without those that have no text
	steps  uint             // of walks
	tired  bool             // the walk has little fuel left, and ends
}

func sorted(v *penstock.Vocabulary) vocabulary {
	key := func(t int) int { // the first two bytes; −1: it has no text
		switch piece := v.Piece(penstock.Token(t)); len(piece) {
		case 0:
			return -1
		case 1:
			return int(piece[0]) << 8
		default:
			return int(piece[0])<<8 | int(piece[1])
		}
	}
	starts := make([]int32, 1<<16+1)
	for t := range v.Len() {
		if k := key(t); k >= 0 {
			starts[k+1]++
		}
	}
	for k := range 1 << 16 {
		starts[k+1] += starts[k]
	}
	o := vocabulary{pieces: v, tokens: make([]penstock.Token, starts[1<<16])}
	for t := range v.Len() {
		if k := key(t); k >= 0 {
			o.tokens[starts[k]] = penstock.Token(t)
			starts[k]++
		}
	}
	begin := int32(0)
	for _, end := range starts[:1<<16] {
		slices.SortFunc(o.tokens[begin:end], func(a, b penstock.Token) int { return compare(v.Piece(a), v.Piece(b)) })
		begin = end
	}
	return o
}

// compare is bytes.Compare, which would allocate.
func compare(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return int(a[i]) - int(b[i])
		}
	}
	return len(a) - len(b)
}

// enough is the fuel below which a mask is left as it is: some tokens are missing then, and all
// that are there fit.
const enough = 2_000_000

// inside allows the tokens that go on with a quote. It returns whether there are any.
func (v *vocabulary) inside(m *machine, s state, mask []uint32) (any bool) {
	v.tired = false
	return v.walk(m, s, v.tokens, 0, mask)
}

// walk allows those of neighbouring tokens that fit, which have so many bytes alike that are read.
func (v *vocabulary) walk(m *machine, s state, tokens []penstock.Token, read int, mask []uint32) (any bool) {
	for len(tokens) > 0 && len(v.pieces.Piece(tokens[0])) == read {
		allow(mask, tokens[0])
		tokens, any = tokens[1:], true
	}
	from := s.places.lo
	for len(tokens) > 0 && !v.tired {
		if v.steps++; v.steps%64 == 0 {
			left := penstock.Fuel()
			v.tired = left >= 0 && left < enough
		}
		c := v.pieces.Piece(tokens[0])[read]
		n := v.alike(tokens, read, c)
		next, ok := m.stepFrom(s, c, from)
		if ok && v.walk(m, next, tokens[:n], read+1, mask) {
			any = true
		}
		if next.places.length > s.places.length {
			from = next.places.lo
		}
		tokens = tokens[n:]
	}
	return any
}

// alike is how many of the first tokens have a byte at a place, behind bytes that all have alike.
func (v *vocabulary) alike(tokens []penstock.Token, at int, c byte) int {
	step := 1
	for step < len(tokens) && v.pieces.Piece(tokens[step])[at] == c {
		step *= 2
	}
	low, high := step/2, min(step, len(tokens)) // the first has it, and the last does not
	for low+1 < high {
		if middle := (low + high) / 2; v.pieces.Piece(tokens[middle])[at] == c {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// opening are the tokens in which a quote is opened.
func (v *vocabulary) opening(m *machine) (tokens []penstock.Token) {
	for _, t := range v.tokens {
		if opens(m, v.pieces.Piece(t)) {
			tokens = append(tokens, t)
		}
	}
	return tokens
}

// outside is the mask of a text outside of quotes, of whose last byte no mark is a part: all tokens
// but those that open a quote and go on with what is not in the source.
func (v *vocabulary) outside(m *machine, opening []penstock.Token) []uint32 {
	mask := make([]uint32, (v.pieces.Len()+31)/32)
	for i := range mask {
		mask[i] = 1<<32 - 1
	}
	for _, t := range opening {
		if !m.fits(state{pair: none}, v.pieces.Piece(t)) {
			ban(mask, t)
		}
	}
	return mask
}

// opens reports whether a text has a mark that opens a quote.
func opens(m *machine, text []byte) bool {
	tail := uint32(0)
	for _, c := range text {
		tail = tail<<8 | uint32(c)
		for i := range m.pairs {
			if open := m.pairs[i].open; c == open[len(open)-1] && endsWith(tail, open) {
				return true
			}
		}
	}
	return false
}

func (m *machine) fits(s state, text []byte) (ok bool) {
	for _, c := range text {
		if s, ok = m.step(s, c); !ok {
			return false
		}
	}
	return true
}

// afterPart takes those tokens from the mask that complete a mark, the first bytes of which are
// there, and do not go on with what is in the source. It returns whether there was something to do.
func (v *vocabulary) afterPart(m *machine, s state, mask []uint32) (changed bool) {
	for _, p := range m.pairs {
		for n := 1; n < len(p.open); n++ {
			if !endsWith(s.tail, p.open[:n]) {
				continue
			}
			first, _ := slices.BinarySearchFunc(v.tokens, p.open[n], func(t penstock.Token, c byte) int { return int(v.pieces.Piece(t)[0]) - int(c) })
			for _, t := range v.tokens[first:] {
				piece := v.pieces.Piece(t)
				if piece[0] != p.open[n] {
					break
				}
				if !m.fits(s, piece) {
					ban(mask, t)
					changed = true
				}
			}
		}
	}
	return changed
}

func allow(mask []uint32, t penstock.Token) { mask[t>>5] |= 1 << (t & 31) }
func ban(mask []uint32, t penstock.Token)   { mask[t>>5] &^= 1 << (t & 31) }
