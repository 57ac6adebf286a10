// SPDX-License-Identifier: MIT

package grammar

import "unicode/utf8"

// alphabet is a set of characters that tokens of a slice are made of. Each has those of the ones before it, but for digits and letters.
type alphabet uint8

const (
	digits  alphabet = iota
	letters          // of ASCII
	ascii            // that can be printed, but for quotes and backslashes
	plain            // all but control characters, quotes and backslashes
	alphabets
)

// lengths of slices, in characters. A slice has the tokens that are longer than the one before it and no longer than its own.
var sliceLengths = [...]int{1, 2, 3, 4, 6, 8, 12, 16, 24, 32}

// slicing has the tokens of plain characters by alphabet and length, so that where any such text fits they are allowed at once.
type slicing struct {
	slices []slice
	others trie // tokens that are in no slice
}

type slice struct {
	of     alphabet
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
			one := slice{of: alphabet(of), length: sliceLengths[k], mask: make([]uint32, (len(pieces)+31)/32)}
			for _, token := range tokens {
				setBit(one.mask, token)
			}
			one.trie = newTrie(pieces, tokens)
			s.slices = append(s.slices, one)
		}
	}
	return s
}

// sliceOf is the slice that a text belongs to; a length below 0: none.
func sliceOf(piece []byte) (alphabet, int) {
	n := 0
	noDigits, noLetters, noASCII := false, false, false
	for i := 0; i < len(piece); n++ {
		r, size := utf8.DecodeRune(piece[i:])
		if r == utf8.RuneError && size <= 1 || r < ' ' || r == '"' || r == '\\' || r == 0x7f {
			return 0, -1
		}
		noDigits = noDigits || r < '0' || r > '9'
		noLetters = noLetters || (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
		noASCII = noASCII || r > '~'
		i += size
	}
	of := plain
	switch {
	case !noDigits:
		of = digits
	case !noLetters:
		of = letters
	case !noASCII:
		of = ascii
	}
	for k, most := range sliceLengths {
		if n <= most {
			return of, k
		}
	}
	return of, -1
}
