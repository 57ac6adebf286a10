// SPDX-License-Identifier: MIT

package session

import (
	"errors"
	"fmt"
	"strings"

	"github.com/penstock/penstock/host/plugin"
	"github.com/penstock/penstock/plugins/abi"
)

// Vocabulary is a model's, as plugins see it.
type Vocabulary struct {
	Pieces       []Text             `json:"pieces"`
	Attributes   map[string][]Token `json:"attributes,omitempty"` // by name: control, end, byte, unused
	Special      map[string]Token   `json:"special,omitempty"`    // by name: bos, eos, eot, newline
	LongestPiece bool               `json:"longest_piece,omitempty"`
}

// attributes and specials are the names of what the ABI has numbers for.
var (
	attributes = map[string]uint32{"control": abi.AttrControl, "end": abi.AttrEnd, "byte": abi.AttrByte, "unused": abi.AttrUnused}
	specials   = map[string]int32{"bos": abi.SpecialBOS, "eos": abi.SpecialEOS, "eot": abi.SpecialEOT, "newline": abi.SpecialNewline}
)

// NewVocabulary writes down a vocabulary.
func NewVocabulary(from plugin.Vocabulary) Vocabulary {
	v := Vocabulary{Attributes: map[string][]Token{}, Special: map[string]Token{}}
	for t := range Token(from.Size()) {
		v.Pieces = append(v.Pieces, Text(from.Piece(t)))
		has := from.Attributes(t)
		for name, bit := range attributes {
			if has&bit != 0 {
				v.Attributes[name] = append(v.Attributes[name], t)
			}
		}
	}
	for name, kind := range specials {
		if t := from.Special(kind); t >= 0 {
			v.Special[name] = t
		}
	}
	return v
}

// check looks for names and tokens that do not exist.
func (v *Vocabulary) check() error {
	n := len(v.Pieces)
	if n == 0 {
		return errors.New("vocabulary.pieces: there are none")
	}
	for name, tokens := range v.Attributes {
		if _, ok := attributes[name]; !ok {
			return fmt.Errorf("vocabulary.attributes.%s: there are control, end, byte and unused", name)
		}
		if err := checkTokens("vocabulary.attributes."+name, tokens, n); err != nil {
			return err
		}
	}
	for name, t := range v.Special {
		if _, ok := specials[name]; !ok {
			return fmt.Errorf("vocabulary.special.%s: there are bos, eos, eot and newline", name)
		}
		if err := checkToken("vocabulary.special."+name, t, n); err != nil {
			return err
		}
	}
	return nil
}

func checkTokens(field string, tokens []Token, n int) error {
	for i, t := range tokens {
		if err := checkToken(fmt.Sprintf("%s[%d]", field, i), t, n); err != nil {
			return err
		}
	}
	return nil
}

func checkToken(field string, t Token, n int) error {
	if t < 0 || int(t) >= n {
		return fmt.Errorf("%s: there is no token %d; the vocabulary has %d", field, t, n)
	}
	return nil
}

// longestPieces makes tokens of a text in place of a model's tokenizer: the longest piece that
// fits, again and again.
func (v *Vocabulary) longestPieces(text string) ([]Token, error) {
	var tokens []Token
	for rest := text; rest != ""; {
		best, length := Token(-1), 0
		for t, piece := range v.Pieces {
			if len(piece) > length && strings.HasPrefix(rest, string(piece)) {
				best, length = Token(t), len(piece)
			}
		}
		if best < 0 {
			return nil, fmt.Errorf("no piece begins %.20q", rest)
		}
		tokens, rest = append(tokens, best), rest[length:]
	}
	return tokens, nil
}
