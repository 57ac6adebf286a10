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

// Vocabulary is the tokens of a model, arranged for masks: sorted by their texts, and those of
// plain characters by length too. It does not change.
type Vocabulary struct {
	pieces    [][]byte
	end       []int32 // end-of-generation tokens
	isEnd     []bool
	isNamed   []bool     // by token: it may come for its number
	all       trie       // tokens with a text
	roots     [256]int32 // the first node of all for a byte; -1: there is none
	single    [256]int32 // the token that is a byte alone; -1: there is none
	spellsAll bool       // single has all bytes of UTF-8, so tokens spell every text
	slices    *slicing
}

// NewVocabulary arranges tokens. pieces has the bytes of each, which it keeps. Tokens of
// endOfGeneration come only where a text may end; those of special only where a grammar names them
// by number, never for their text.
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
	v.indexBytes()
	v.slices = newSlicing(v.pieces, tokens)
	return v
}

// sortedByText returns the tokens that have a text, sorted by it.
func sortedByText(pieces [][]byte) []int32 {
	type start struct {
		first uint64 // the first eight bytes, in which most texts differ
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

// indexBytes finds the tokens of a single byte.
func (v *Vocabulary) indexBytes() {
	v.spellsAll = true
	for b := range v.single {
		v.single[b] = -1
		at := v.all.child(-1, byte(b))
		v.roots[b] = int32(at)
		if at >= 0 && v.all.nodes[at].first < v.all.nodes[at+1].first {
			v.single[b] = v.all.tokens[v.all.nodes[at].first]
		} else if b != 0xC0 && b != 0xC1 && b < 0xF5 { // other bytes are not in UTF-8
			v.spellsAll = false
		}
	}
}

// Len is the number of tokens.
func (v *Vocabulary) Len() int { return len(v.pieces) }

// Words is the number of words in a mask.
func (v *Vocabulary) Words() int { return (len(v.pieces) + 31) / 32 }

func (v *Vocabulary) has(token int32) bool { return token >= 0 && int(token) < len(v.pieces) }

func setBit(mask []uint32, token int32) { mask[token>>5] |= 1 << (token & 31) }

// trie is a prefix tree of tokens' texts. Its nodes stand in the order of the texts, each before
// its descendants, so a walk goes through the list and skips parts of it.
type trie struct {
	nodes  []trieNode
	tokens []int32 // in the order of their nodes
	depth  int     // bytes of the longest text
}

type trieNode struct {
	skip  uint32 // the node after all descendants of this one
	first uint32 // index in tokens of those that end here, up to the next node's first
	depth uint16 // bytes before this node's
	label byte
}

// newTrie makes the trie of tokens that are sorted by their pieces. No piece is empty.
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
	t.nodes = append(t.nodes, trieNode{first: uint32(len(t.tokens))}) // an end marker, so that each node has one after it
	return t
}

func (t *trie) close(path []uint32) {
	for _, i := range path {
		t.nodes[i].skip = uint32(len(t.nodes))
	}
}

// sliceLengths are the greatest lengths of slices, in characters. A slice has the tokens that are
// too long for the one before it.
var sliceLengths = [...]int{1, 2, 3, 4, 6, 8, 12, 16, 24, 32}

// slicing sorts the tokens of plain characters into slices by class and length: where any text of a
// class and length fits, all tokens of its slice are allowed at once, without a walk. (llguidance's
// slicer has the same purpose.)
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

// fitting is what is known where some numbers of characters of each class fit: the tokens that
// surely do, and the tries of the others.
type fitting struct {
	mask   []uint32
	beyond []*trie
}

// maxRooms bounds the fittings that are kept.
const maxRooms = 64

// allowedWithin returns the tokens that fit where room[class] characters of each class do.
func (s *slicing) allowedWithin(room [alphabets]int, w *work) (*fitting, error) {
	for of, characters := range room { // one fitting for all rooms that the same slices fit into
		room[of] = 0
		for _, length := range sliceLengths {
			if length <= characters {
				room[of] = length
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.rooms[room]
	if f == nil {
		if err := w.spendIfBrief(s.words); err != nil {
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

// newSlicing sorts tokens into slices. They are sorted by their pieces.
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

// sliceOf returns the slice of a text, by the narrowest class of its characters and the index of
// its length; below 0: none.
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

// child returns the child of a node for a byte, below 0 where there is none. Node -1 is the root.
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

// Longer reports whether some token's text begins with text and is longer.
func (v *Vocabulary) Longer(text []byte) bool {
	sorted := v.all.tokens
	i := sort.Search(len(sorted), func(i int) bool { return bytes.Compare(v.pieces[sorted[i]], text) > 0 })
	return i < len(sorted) && bytes.HasPrefix(v.pieces[sorted[i]], text)
}
