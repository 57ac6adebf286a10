// SPDX-License-Identifier: MIT

package grammar

import (
	"strings"
	"unicode/utf8"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

// sliceLengths are the lengths of slices, in characters. A slice has the tokens that are longer than the one before it and no longer than its own.
var sliceLengths = [...]int{1, 2, 3, 4, 6, 8, 12, 16, 24, 32}

// slicing has the tokens of plain characters by class and length, so that where any such text fits they are allowed at once.
type slicing struct {
	slices []slice
	others trie // tokens that are in no slice
}

type slice struct {
	of     lexeme.Plain
	length int // characters of the longest
	mask   []uint32
	trie   trie
}

// newSlicing cuts tokens that are sorted by their pieces.
func newSlicing(pieces [][]byte, sorted []int32) slicing {
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
	s := slicing{others: newTrie(pieces, others)}
	for of := range cut {
		for k, tokens := range cut[of] {
			if len(tokens) == 0 {
				continue
			}
			one := slice{of: lexeme.Plain(of), length: sliceLengths[k], mask: make([]uint32, (len(pieces)+31)/32)}
			for _, token := range tokens {
				setBit(one.mask, token)
			}
			one.trie = newTrie(pieces, tokens)
			s.slices = append(s.slices, one)
		}
	}
	return s
}

// sliceOf is the slice that a text belongs to: the narrowest class of its characters; a length below 0: none.
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
