// SPDX-License-Identifier: MIT

package main

import "unicode/utf8"

// marks are the quotation marks that count.
type marks struct {
	pairs []pair
	whole bool // a quote does not end inside a word
}

// pair are the mark that opens a quote and the one that closes it, at most 4 bytes each.
type pair struct{ open, close string }

// none is the pair of a text outside of quotes.
const none = -1

// state is where a text stands, after any of its bytes: a mark, or a character, may be incomplete.
type state struct {
	places  places // in a quote: where it stands in the source; none if the bytes of closing do not
	tail    uint32 // outside: the last bytes
	pair    int8   // the quote's; none
	spaces  int8   // white space at its end
	closing int8   // bytes of the closing mark at its end
	closes  bool   // the quote may end there
}

// start is before the first character, where a line begins.
var start = state{pair: none, tail: '\n'}

// mostSpaces bounds white space inside a quote, which the source has once.
const mostSpaces = 8

// machine reads texts byte by byte.
type machine struct {
	marks
	source *source
}

// opened is at the beginning of a quote.
func (m *machine) opened(pair int) state { return state{pair: int8(pair), places: m.source.all()} }

// step reads a byte. It returns false if the text then has a quote that is not in the source.
func (m *machine) step(s state, c byte) (state, bool) { return m.stepFrom(s, c, s.places.lo) }

// stepFrom is step where none of the places before from has the byte.
func (m *machine) stepFrom(s state, c byte, from int32) (state, bool) {
	if s.pair == none {
		s.tail = s.tail<<8 | uint32(c)
		for i := range m.pairs {
			if endsWith(s.tail, m.pairs[i].open) {
				s = m.opened(i)
				return s, !s.places.none()
			}
		}
		return s, true
	}
	mark := m.pairs[s.pair].close
	if s.closing > 0 && mark[s.closing] != c {
		s.closing = 0
	}
	if mark[s.closing] == c {
		if s.closing == 0 {
			s.closes = m.mayEnd(s.places, s.spaces)
		}
		if s.closing++; int(s.closing) == len(mark) {
			return state{pair: none, tail: uint32(c)}, s.closes
		}
	}
	switch {
	case !isSpace(c):
		inside := s.places.length == 0 && !utf8.RuneStart(c) // of a character
		s.places, s.spaces = m.source.with(s.places, c, from), 0
		if c == 0 || inside {
			s.places.hi = s.places.lo
		}
	case s.places.length == 0 || s.spaces > 0: // as if it were not there
		if s.spaces++; s.spaces > mostSpaces {
			s.places.hi = s.places.lo
		}
	default:
		s.places, s.spaces = m.source.with(s.places, ' ', from), 1
	}
	return s, s.closing > 0 || !s.places.none()
}

// mayEnd reports whether a quote may end.
func (m *machine) mayEnd(p places, spaces int8) bool {
	return !p.none() && p.length > 0 && (spaces > 0 || m.source.last(p) != utf8.RuneError && (!m.whole || m.source.endsWord(p)))
}

// endsWith reports whether the last bytes are a mark.
func endsWith(tail uint32, mark string) bool {
	for i := len(mark) - 1; i >= 0; i-- {
		if byte(tail) != mark[i] {
			return false
		}
		tail >>= 8
	}
	return true
}
