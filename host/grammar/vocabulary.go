// SPDX-License-Identifier: MIT

package grammar

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// Vocabulary is the tokens of a model, arranged for masks: in the order of their texts, and those
// of plain characters by length. It does not change.
type Vocabulary struct {
	pieces  [][]byte
	end     []int32 // end-of-generation tokens
	isEnd   []bool
	isNamed []bool     // by token: it may come for its number
	all     trie       // tokens with a text
	roots   [256]int32 // the first node of all for a byte; -1: there is none
	single  [256]int32 // the token that is a byte alone; -1: there is none
	spells  bool       // all texts in UTF-8
	slices  *slicing
}

// NewVocabulary arranges tokens. pieces has the bytes of each, which it keeps. Those of
// endOfGeneration come only where a text may end. Those of special come only where a grammar names
// them by number, never for their text.
func NewVocabulary(pieces [][]byte, endOfGeneration, special []int32) *Vocabulary {
	v := &Vocabulary{pieces: slices.Clone(pieces), isEnd: make([]bool, len(pieces)), isNamed: make([]bool, len(pieces))}
	for i, piece := range v.pieces {
		v.isNamed[i] = len(piece) > 0
	}
	for _, token := range special {
		if v.has(token) {
			v.pieces[token] = nil
		}
	}
	for _, token := range endOfGeneration {
		if v.has(token) && !v.isEnd[token] {
			v.isEnd[token], v.isNamed[token], v.pieces[token] = true, false, nil
			v.end = append(v.end, token)
		}
	}
	tokens := sortedByText(v.pieces)
	v.all = newTrie(v.pieces, tokens)
	v.bytes()
	v.slices = newSlicing(v.pieces, tokens)
	return v
}

// sortedByText is the tokens that have a text, in the order of their texts.
func sortedByText(pieces [][]byte) []int32 {
	type start struct {
		first uint64 // the first eight bytes, which tell most texts apart
		token int32
	}
	var starts []start
	for i, piece := range pieces {
		if len(piece) > 0 {
			var first [8]byte
			copy(first[:], piece)
			starts = append(starts, start{binary.BigEndian.Uint64(first[:]), int32(i)})
		}
	}
	slices.SortFunc(starts, func(a, b start) int {
		if a.first != b.first {
			return cmp.Compare(a.first, b.first)
		}
		return cmp.Or(bytes.Compare(pieces[a.token], pieces[b.token]), cmp.Compare(a.token, b.token))
	})
	tokens := make([]int32, len(starts))
	for i := range starts {
		tokens[i] = starts[i].token
	}
	return tokens
}

// bytes finds the tokens that are a byte alone.
func (v *Vocabulary) bytes() {
	v.spells = true
	for b := range v.single {
		v.single[b] = -1
		at := v.all.child(-1, byte(b))
		v.roots[b] = int32(at)
		if at >= 0 && v.all.nodes[at].first < v.all.nodes[at+1].first {
			v.single[b] = v.all.tokens[v.all.nodes[at].first]
		} else if b != 0xC0 && b != 0xC1 && b < 0xF5 { // the others are in no text
			v.spells = false
		}
	}
}

// Len is the number of tokens.
func (v *Vocabulary) Len() int { return len(v.pieces) }

// Words is the number of words in a mask.
func (v *Vocabulary) Words() int { return (len(v.pieces) + 31) / 32 }

func (v *Vocabulary) has(token int32) bool { return token >= 0 && int(token) < len(v.pieces) }

func setBit(mask []uint32, token int32) { mask[token>>5] |= 1 << (token & 31) }
