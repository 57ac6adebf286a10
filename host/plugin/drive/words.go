// SPDX-License-Identifier: MIT

package drive

import (
	"math/rand/v2"
	"strings"

	"github.com/penstock/penstock/plugins/abi"
)

// Words is a made-up vocabulary: an end token, one without text, one that is unused, single bytes,
// some words of stories and of JSON, and then as many others as there are to be.
type Words struct {
	pieces []string
	tokens map[string]int32
}

// EndToken ends answers.
const EndToken = 0

const (
	beginToken  = 1
	unusedToken = 2
	firstByte   = 3
)

// longest is how many bytes a piece has at most.
const longest = 16

// NewWords makes a vocabulary of n tokens, or of those alone that any has.
func NewWords(n int) *Words {
	w := &Words{pieces: make([]string, firstByte, max(n, 512)), tokens: map[string]int32{}}
	for b := range 256 {
		w.pieces = append(w.pieces, string([]byte{byte(b)}))
	}
	for _, text := range strings.Fields(`the a and frog cat mouse once upon time was who said that it is not very old green pond sky {" "} ": ", true false null
		"name "age "list 12 345 -1 1e5 [] {} [{ }] é ☃ 👋 ne ver more As an AI language model I cannot`) {
		w.pieces = append(w.pieces, text, " "+text)
	}
	w.pieces = append(w.pieces, "\n\n", "  ", ".\n", "```", "<|im_end|>")
	for random := rand.New(rand.NewPCG(1, 1)); len(w.pieces) < n; { // of 2 to 12 letters, most with a space before
		piece := make([]byte, 2+random.IntN(11))
		for i := range piece {
			piece[i] = byte('a' + random.IntN(26))
		}
		if random.IntN(3) > 0 {
			piece[0] = ' '
		}
		w.pieces = append(w.pieces, string(piece))
	}
	if n > 0 {
		w.pieces = w.pieces[:n]
	}
	for t, piece := range w.pieces {
		if _, ok := w.tokens[piece]; !ok && t >= firstByte {
			w.tokens[piece] = int32(t)
		}
	}
	return w
}

// Size implements plugin.Vocabulary.
func (w *Words) Size() int { return len(w.pieces) }

// Piece implements plugin.Vocabulary.
func (w *Words) Piece(t int32) string { return w.pieces[t] }

// Attributes implements plugin.Vocabulary.
func (w *Words) Attributes(t int32) uint32 {
	switch {
	case t == EndToken:
		return abi.AttrControl | abi.AttrEnd
	case t == beginToken:
		return abi.AttrControl
	case t == unusedToken:
		return abi.AttrUnused
	case t < firstByte+256:
		return abi.AttrByte
	}
	return 0
}

// Special implements plugin.Vocabulary.
func (w *Words) Special(kind int32) int32 {
	switch kind {
	case abi.SpecialBOS:
		return beginToken
	case abi.SpecialEOS:
		return EndToken
	}
	return -1
}

// Tokenize implements plugin.Vocabulary: the longest piece first, and bytes if there is none.
func (w *Words) Tokenize(text string, addSpecial, _ bool) ([]int32, error) {
	tokens := []int32{}
	if addSpecial {
		tokens = append(tokens, beginToken)
	}
	for text != "" {
		n := min(len(text), longest)
		for n > 1 && w.tokens[text[:n]] == 0 {
			n--
		}
		tokens, text = append(tokens, w.tokens[text[:n]]), text[n:] // every byte is a token
	}
	return tokens, nil
}
