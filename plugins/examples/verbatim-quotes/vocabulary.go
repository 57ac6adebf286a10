// SPDX-License-Identifier: MIT

package main

import (
	"slices"
	"unicode/utf8"

	"github.com/penstock/penstock/plugins/examples/internal/word"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// largest bounds what may be quoted, in bytes.
const largest = 200_000

// normal is a text in which white space is a single space.
type normal struct{ bytes []byte }

func (n *normal) add(text []byte) {
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == 0xc2 && i+1 < len(text) && text[i+1] == 0xa0 { // a no-break space
			c, i = ' ', i+1
		}
		switch {
		case isSpace(c):
			if last := len(n.bytes) - 1; last >= 0 && n.bytes[last] != ' ' {
				n.bytes = append(n.bytes, ' ')
			}
		case c != 0:
			n.bytes = append(n.bytes, c)
		}
	}
}

// separate has no quote go on from here.
func (n *normal) separate() { n.bytes = append(n.bytes, 0) }

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }

// source is a text whose parts can be found: suffixes are its places, in the order of what follows
// them, so that the places at which a text stands are neighbours (a suffix array).
type source struct {
	text     []byte
	suffixes []int32
}

// newSource sorts the places: by their next 4 bytes, and then those that are alike by twice as many
// again and again (Larsson and Sadakane, 2007). A place's rank is where those begin that are like
// it, so what follows it at a distance is compared by a rank that is known.
func newSource(text []byte) *source {
	n := len(text)
	suffixes, other, rank := make([]int32, n), make([]int32, n), make([]int32, n)
	for i := range suffixes {
		suffixes[i] = int32(i)
	}
	s := &source{text, suffixes}
	for at := int32(3); at >= 0; at-- {
		var starts [258]int32 // of each byte, the end of the text being the least
		for i := range int32(n) {
			starts[s.at(i, at)+2]++
		}
		for c := range 257 {
			starts[c+1] += starts[c]
		}
		for i, place := range s.suffixes {
			c := s.at(int32(i), at) + 1
			other[starts[c]] = place
			starts[c]++
		}
		s.suffixes, other = other, s.suffixes
	}
	size := int32(0)
	behind := func(place int32) int32 {
		if at := int(place + size); at < n {
			return rank[at]
		}
		return -1
	}
	compare := func(a, b int32) int { return int(behind(a) - behind(b)) }
	first := int32(0)
	for i, place := range s.suffixes {
		for at := int32(0); at < 4; at++ {
			if s.at(int32(i), at) != s.at(first, at) {
				first = int32(i)
			}
		}
		rank[place] = first
	}
	for alike := true; alike; {
		size, alike = max(4, 2*size), false
		for begin, end := 0, 0; begin < n; begin = end {
			for end = begin + 1; end < n && int(rank[s.suffixes[end]]) == begin; end++ {
			}
			if end-begin == 1 {
				continue
			}
			group := s.suffixes[begin:end]
			slices.SortFunc(group, compare)
			first := 0
			for i, place := range group {
				if compare(group[first], place) != 0 {
					first = i
				}
				alike = alike || first != i
				other[begin+i] = int32(begin + first)
			}
			for i, place := range group {
				rank[place] = other[begin+i]
			}
		}
	}
	return s
}

// all are the places at which the empty text stands.
func (s *source) all() places { return places{0, int32(len(s.suffixes)), 0} }

// places are the places at which a text stands: from lo up to hi among the suffixes.
type places struct{ lo, hi, length int32 }

func (p places) none() bool { return p.lo >= p.hi }

// at is the byte behind the text at a place; −1: the source ends.
func (s *source) at(i, length int32) int32 {
	if p := int(s.suffixes[i] + length); p < len(s.text) {
		return int32(s.text[p])
	}
	return -1
}

// with are the places at which the text stands with another byte. None of those before from has it.
func (s *source) with(p places, c byte, from int32) places {
	lo := s.bound(p, from, int32(c))
	return places{lo, s.bound(p, lo, int32(c)+1), p.length + 1}
}

// bound is the first of the places, from one on, whose next byte is not less than c. Those nearby
// are found faster.
func (s *source) bound(p places, from, c int32) int32 {
	lo, hi := from, p.hi
	for step := int32(1); lo < hi; step *= 2 {
		probe := min(lo+step, hi) - 1
		if s.at(probe, p.length) >= c {
			hi = probe
			break
		}
		lo = probe + 1
	}
	for lo < hi {
		if middle := (lo + hi) / 2; s.at(middle, p.length) < c {
			lo = middle + 1
		} else {
			hi = middle
		}
	}
	return lo
}

// last is the text's last character; utf8.RuneError if it is incomplete.
func (s *source) last(p places) rune {
	c, _ := utf8.DecodeLastRune(s.text[:s.suffixes[p.lo]+p.length])
	return c
}

// endsWord reports whether no word goes on behind the text, at one of the places.
func (s *source) endsWord(p places) bool {
	if !word.Has(s.last(p)) {
		return true
	}
	for p.lo < p.hi {
		rest := s.text[s.suffixes[p.lo]+p.length:]
		if c, _ := utf8.DecodeRune(rest); len(rest) == 0 || !word.Has(c) {
			return true
		}
		if rest[0] < 0x80 {
			p.lo = s.bound(p, p.lo, int32(rest[0])+1) // all that are alike
		} else {
			p.lo++
		}
	}
	return false
}

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
