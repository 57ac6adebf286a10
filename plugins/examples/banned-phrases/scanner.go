// SPDX-License-Identifier: MIT

package main

import (
	"slices"
	"unicode/utf8"

	"github.com/penstock/penstock/plugins/examples/internal/pattern"
	"github.com/penstock/penstock/plugins/sdk/go/penstock"
)

// scanner reads the answer and finds what is banned. It keeps where it stood after each of the last
// tokens, so that it goes on from there when tokens are taken back.
type scanner struct {
	phrases  phrases
	patterns *pattern.Matcher // nil: none
	last     int              // the answer ends with so many tokens; 0: it has no limit
	free     int              // what begins before this byte is allowed

	text   []byte
	tokens []penstock.Token
	ends   []int // of the tokens in the text
	now    state
	after  []state // the tokens; the last of it are those after the last tokens
	piece  []byte
	first  int // where the first begins of what was found; −1: nothing was
}

// state is where a scanner stands.
type state struct {
	read     int // bytes of the text; an incomplete character is not read
	phrases  spelling
	patterns pattern.State
}

func (s *scanner) empty() bool { return s.phrases.empty() && s.patterns == nil }

// follow reads more tokens. It returns where the first of what they complete begins; −1: they
// complete nothing.
func (s *scanner) follow(tokens []penstock.Token) (first int) {
	s.first = -1
	for _, t := range tokens {
		s.piece = penstock.Piece(t, s.piece)
		s.text = append(s.text, s.piece...)
		s.read()
		s.tokens, s.ends = append(s.tokens, t), append(s.ends, len(s.text))
		if len(s.ends) == s.last {
			s.find(s.end())
		}
		s.keep()
	}
	return s.first
}

// find finds what begins at a place in the text; −1: nothing.
func (s *scanner) find(from int) {
	if from >= s.free && (s.first < 0 || from < s.first) {
		s.first = from
	}
}

// begin is before the next character, with nothing begun.
func (s *scanner) begin() {
	s.now = state{read: len(s.text), phrases: spelling{before: -1}, patterns: pattern.State{Before: -1}}
	if s.patterns != nil {
		s.patterns.Restore(s.now.patterns)
	}
}

// read reads the whole characters that have come.
func (s *scanner) read() {
	for s.now.read < len(s.text) && utf8.FullRune(s.text[s.now.read:]) {
		c, size := utf8.DecodeRune(s.text[s.now.read:])
		from := s.now.read
		s.now.read += size
		s.find(s.phrases.step(&s.now.phrases, c, from))
		if s.patterns != nil {
			if start, _, ok := s.patterns.Step(c, from, s.now.read); ok {
				s.find(start)
			}
		}
	}
}

// end tells where the first begins of what the end of the answer would complete here; −1: nothing.
func (s *scanner) end() int {
	first := s.phrases.end(&s.now.phrases)
	if s.patterns != nil {
		if start, ok := s.patterns.End(); ok && (first < 0 || start < first) {
			first = start
		}
	}
	return first
}

// keep keeps the state after the last token.
func (s *scanner) keep() {
	if s.patterns != nil {
		s.now.patterns = s.patterns.State()
	}
	if len(s.after) >= 4*hold {
		s.after = s.after[:copy(s.after, s.after[2*hold:])]
	}
	s.after = append(s.after, s.now.copied())
}

// copied is a state of its own.
func (s state) copied() state {
	s.phrases.threads = slices.Clone(s.phrases.threads)
	return s
}

// cut leaves the first n tokens.
func (s *scanner) cut(n int) {
	if n >= len(s.ends) {
		return
	}
	kept := len(s.after) - (len(s.ends) - n)
	if kept <= 0 { // further back than states are kept: the last tokens that stay are read again
		from := max(0, n-hold)
		again := slices.Clone(s.tokens[from:n])
		s.shorten(from)
		s.after = s.after[:0]
		s.begin()
		s.follow(again)
		return
	}
	s.shorten(n)
	s.after = s.after[:kept]
	s.now = s.after[kept-1].copied()
	if s.patterns != nil {
		s.patterns.Restore(s.now.patterns)
	}
}

// shorten leaves the first n tokens and their text.
func (s *scanner) shorten(n int) {
	end := 0
	if n > 0 {
		end = s.ends[n-1]
	}
	s.text, s.tokens, s.ends = s.text[:end], s.tokens[:n], s.ends[:n]
}

// tokenAt is the token that has the byte at an offset.
func (s *scanner) tokenAt(offset int) int {
	i := len(s.ends) - 1
	for i > 0 && s.ends[i-1] > offset {
		i--
	}
	return i
}
