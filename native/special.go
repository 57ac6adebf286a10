// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import (
	"cmp"
	"slices"
	"strings"
	"unsafe"
)

// specials finds the special tokens in a text: those whose text is looked for before all else is
// tokenised. llama.cpp looks through the whole text for one after the other, and for each that it
// finds walks through all that it has found: the square of their number.
type specials struct {
	tokens []special // in llama.cpp's order: the first of two that overlap in a text wins; it is a longer one, or as long
	trie   map[step]int
	whole  map[int][]int // by node: which of tokens end there
	first  [256]bool     // bytes that one begins with
}

type special struct {
	token int32
	text  string
	kind  Attribute
}

// step is an edge of the trie; node 0 is its root.
type step struct {
	node int
	ch   byte
}

// The attributes of special tokens. What is white space beside one that strips belongs to it.
const (
	stripsLeft  Attribute = 1 << 7
	stripsRight Attribute = 1 << 8
	asText      Attribute = AttributeControl | AttributeUnknown // only where the text of control tokens becomes those tokens
)

func (s *specials) load(c *C.ps_model, attributes []Attribute) error {
	var e C.ps_error
	var text C.ps_text
	var n C.size_t
	tokens, offsets := make([]int32, len(attributes)+1), make([]uint32, len(attributes)+1)
	code := C.ps_vocabulary_specials(c, (*C.int32_t)(unsafe.Pointer(&tokens[0])), &n, &text, (*C.uint32_t)(unsafe.Pointer(&offsets[0])), &e)
	if err := failure(code, &e); err != nil {
		return err
	}
	all := takeText(&text)
	s.trie, s.whole = map[step]int{}, map[int][]int{}
	for i, t := range tokens[:n] {
		s.add(special{t, all[offsets[i]:offsets[i+1]], attributes[t]})
	}
	return nil
}

func (s *specials) add(t special) {
	if t.text == "" {
		return // llama.cpp would find it forever
	}
	node := 0
	for i := range len(t.text) {
		next, ok := s.trie[step{node, t.text[i]}]
		if !ok {
			next = len(s.trie) + 1
			s.trie[step{node, t.text[i]}] = next
		}
		node = next
	}
	s.first[t.text[0]] = true
	s.whole[node] = append(s.whole[node], len(s.tokens))
	s.tokens = append(s.tokens, t)
}

// found is a special token, by its place among all, and the bytes of a text that become it.
type found struct{ special, begin, end int }

const noSpecial = -1

// split takes a text apart, as llama.cpp does. The time is linear in the text: from each byte on
// it goes as far as the longest token.
func (s *specials) split(text string, parseSpecial bool) []found {
	all := s.all(text, parseSpecial)
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(a.special, b.special) })
	taken := make([]bool, len(text)) // by those before
	var kept []found
	for _, f := range all {
		if taken[f.begin] || taken[f.end-1] { // none before is shorter, so this is all that may overlap
			continue
		}
		kind := s.tokens[f.special].kind
		for kind&stripsLeft != 0 && f.begin > 0 && !taken[f.begin-1] && isSpace(text[f.begin-1]) {
			f.begin--
		}
		for kind&stripsRight != 0 && f.end < len(text) && !taken[f.end] && isSpace(text[f.end]) {
			f.end++
		}
		for i := f.begin; i < f.end; i++ {
			taken[i] = true
		}
		kept = append(kept, f)
	}
	slices.SortFunc(kept, func(a, b found) int { return cmp.Compare(a.begin, b.begin) })
	return kept
}

// all finds all special tokens in a text, those too that overlap.
func (s *specials) all(text string, parseSpecial bool) (all []found) {
	for begin := range len(text) {
		if !s.first[text[begin]] {
			continue
		}
		for node, end := 0, begin; end < len(text); {
			next, ok := s.trie[step{node, text[end]}]
			if !ok {
				break
			}
			node, end = next, end+1
			for _, i := range s.whole[node] {
				if parseSpecial || s.tokens[i].kind&asText == 0 {
					all = append(all, found{i, begin, end})
				}
			}
		}
	}
	return all
}

// isSpace is C's isspace.
func isSpace(ch byte) bool { return strings.IndexByte(" \t\n\v\f\r", ch) >= 0 }
