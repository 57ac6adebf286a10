// SPDX-License-Identifier: MIT

package grammar

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"sort"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/penstock/penstock/host/grammar/lexeme"
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

// trie is the texts of tokens, which share their beginnings. Its nodes stand in the order of the
// texts, each before those that go on after it.
type trie struct {
	nodes  []trieNode
	tokens []int32 // in the order of the nodes
	depth  int     // bytes of the longest text
}

type trieNode struct {
	skip  uint32 // the node after all that go on after this one
	first uint32 // of tokens: those that end here, up to the next node's first
	depth uint16 // bytes before this one's
	label byte
}

// newTrie makes the trie of tokens that are sorted by their pieces, of which none is empty.
func newTrie(pieces [][]byte, sorted []int32) trie {
	var t trie
	var path []uint32 // the nodes of the last text
	for _, token := range sorted {
		piece := pieces[token]
		shared := 0
		for shared < len(path) && shared < len(piece) && t.nodes[path[shared]].label == piece[shared] {
			shared++
		}
		t.close(path[shared:])
		path = path[:shared]
		for i := shared; i < len(piece); i++ {
			path = append(path, uint32(len(t.nodes)))
			t.nodes = append(t.nodes, trieNode{first: uint32(len(t.tokens)), depth: uint16(i), label: piece[i]})
		}
		t.tokens = append(t.tokens, token)
		t.depth = max(t.depth, len(piece))
	}
	t.close(path)
	t.nodes = append(t.nodes, trieNode{first: uint32(len(t.tokens))}) // so that each has one after it
	return t
}

func (t *trie) close(path []uint32) {
	for _, i := range path {
		t.nodes[i].skip = uint32(len(t.nodes))
	}
}

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

// child is the node after another for a byte, or below 0; after -1 come the first ones.
func (t *trie) child(of int, b byte) int {
	at, depth := 0, uint16(0)
	if of >= 0 {
		at, depth = of+1, t.nodes[of].depth+1
	}
	for at < len(t.nodes)-1 && t.nodes[at].depth == depth && t.nodes[at].label <= b {
		if t.nodes[at].label == b {
			return at
		}
		at = int(t.nodes[at].skip)
	}
	return -1
}

// Longer reports whether some token's text begins with a text and is longer.
func (v *Vocabulary) Longer(text []byte) bool {
	sorted := v.all.tokens
	i := sort.Search(len(sorted), func(i int) bool { return bytes.Compare(v.pieces[sorted[i]], text) > 0 })
	return i < len(sorted) && bytes.HasPrefix(v.pieces[sorted[i]], text)
}
