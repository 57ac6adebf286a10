// SPDX-License-Identifier: MIT

package check

import (
	"strings"

	"github.com/penstock/penstock/plugins/abi"
)

// vocabulary is the made-up model's: an end token, one without text, one that is unused, single
// bytes, and words.
type vocabulary struct {
	pieces []string
	tokens map[string]int32
}

const (
	endToken    = 0
	beginToken  = 1
	unusedToken = 2
	firstByte   = 3
)

var words = newVocabulary()

func newVocabulary() *vocabulary {
	v := &vocabulary{pieces: make([]string, firstByte), tokens: map[string]int32{}}
	for b := range 256 {
		v.pieces = append(v.pieces, string([]byte{byte(b)}))
	}
	for _, text := range strings.Fields(`the a and frog cat mouse once upon time was who said that it is not very old green pond sky {" "} ": ", true false null
		"name "age "list 12 345 -1 1e5 [] {} [{ }] é ☃ 👋 ne ver more As an AI language model I cannot`) {
		v.pieces = append(v.pieces, text, " "+text)
	}
	v.pieces = append(v.pieces, "\n\n", "  ", ".\n", "```", "<|im_end|>")
	for t, piece := range v.pieces {
		if _, ok := v.tokens[piece]; !ok && t >= firstByte {
			v.tokens[piece] = int32(t)
		}
	}
	return v
}

// Size implements plugin.Vocabulary.
func (v *vocabulary) Size() int { return len(v.pieces) }

// Piece implements plugin.Vocabulary.
func (v *vocabulary) Piece(t int32) string { return v.pieces[t] }

// Attributes implements plugin.Vocabulary.
func (v *vocabulary) Attributes(t int32) uint32 {
	switch {
	case t == endToken:
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
func (v *vocabulary) Special(kind int32) int32 {
	switch kind {
	case abi.SpecialBOS:
		return beginToken
	case abi.SpecialEOS:
		return endToken
	}
	return -1
}

// Tokenize implements plugin.Vocabulary: the longest piece first, and bytes if there is none.
func (v *vocabulary) Tokenize(text string, addSpecial, _ bool) ([]int32, error) {
	tokens := []int32{}
	if addSpecial {
		tokens = append(tokens, beginToken)
	}
	for text != "" {
		n := min(len(text), 16)
		for n > 1 && v.tokens[text[:n]] == 0 {
			n--
		}
		tokens, text = append(tokens, v.tokens[text[:n]]), text[n:] // every byte is a token
	}
	return tokens, nil
}
