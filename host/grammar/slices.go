// SPDX-License-Identifier: MIT

package grammar

import (
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

// sliceLengths are the lengths of slices, in characters. A slice has the tokens that are longer
// than the one before it and no longer than its own.
var sliceLengths = [...]int{1, 2, 3, 4, 6, 8, 12, 16, 24, 32}

// slicing has the tokens of plain characters by class and length, so that where any such text fits
// they are allowed at once.
type slicing struct {
	slices []slice
	others trie // tokens that are in no slice
	words  int  // of a mask

	mu    sync.Mutex
	rooms map[[alphabets]int]*fitting
}

type slice struct {
	of     lexeme.Plain
	length int // characters of the longest
	tokens []int32
	trie   trie
}

// fitting is what is known where so many characters of each class fit: the tokens that surely do,
// and tries of the others.
type fitting struct {
	mask   []uint32
	beyond []*trie
}

// maxRooms is how many of them are kept.
const maxRooms = 64

// within returns what fits where so many characters of each class do.
func (s *slicing) within(room [alphabets]int, w *work) (*fitting, error) {
	for of := range room {
		room[of] = lengthWithin(room[of])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.rooms[room]
	if f == nil {
		if err := w.also(s.words); err != nil {
			return nil, err
		}
		f = s.fit(room)
		if len(s.rooms) >= maxRooms {
			clear(s.rooms)
		}
		s.rooms[room] = f
	}
	return f, nil
}

// lengthWithin is the longest length of a slice within a room.
func lengthWithin(room int) int {
	most := 0
	for _, length := range sliceLengths {
		if length <= room {
			most = length
		}
	}
	return most
}

func (s *slicing) fit(room [alphabets]int) *fitting {
	f := &fitting{mask: make([]uint32, s.words), beyond: []*trie{&s.others}}
	for i := range s.slices {
		one := &s.slices[i]
		if one.length > room[one.of] {
			f.beyond = append(f.beyond, &one.trie)
			continue
		}
		for _, token := range one.tokens {
			setBit(f.mask, token)
		}
	}
	return f
}

// newSlicing cuts tokens that are sorted by their pieces.
func newSlicing(pieces [][]byte, sorted []int32) *slicing {
	var cut [alphabets][len(sliceLengths)][]int32
	var others []int32
	for _, token := range sorted {
		of, k := sliceOf(pieces[token])
		if k < 0 {
			others = append(others, token)
		} else {
			cut[of][k] = append(cut[of][k], token)
		}
	}
	s := &slicing{words: (len(pieces) + 31) / 32, others: newTrie(pieces, others), rooms: map[[alphabets]int]*fitting{}}
	for of := range cut {
		for k, tokens := range cut[of] {
			if len(tokens) == 0 {
				continue
			}
			s.slices = append(s.slices, slice{of: lexeme.Plain(of), length: sliceLengths[k], tokens: tokens, trie: newTrie(pieces, tokens)})
		}
	}
	return s
}

// sliceOf is the slice that a text belongs to: the narrowest class of its characters; a length
// below 0: none.
func sliceOf(piece []byte) (lexeme.Plain, int) {
	if !utf8.Valid(piece) {
		return 0, -1
	}
	text := string(piece)
	of := lexeme.PlainDigits
	for of < alphabets && strings.ContainsFunc(text, func(r rune) bool { return !of.Has(r) }) {
		of++
	}
	n := utf8.RuneCountInString(text)
	for k, most := range sliceLengths {
		if n <= most && of < alphabets {
			return of, k
		}
	}
	return 0, -1
}
