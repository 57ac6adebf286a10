// SPDX-License-Identifier: MIT

package main

import (
	"slices"
	"unicode/utf8"

	"github.com/penstock/penstock/plugins/examples/internal/word"
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
