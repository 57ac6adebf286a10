// SPDX-License-Identifier: MIT

package engine

import (
	"github.com/penstock/penstock/native"
	"github.com/penstock/penstock/plugins/abi"
)

// Words is the vocabulary as plugins see it: a token is the text it shows, so control tokens have none.
type Words struct{ engine *Engine }

// Words returns the model's vocabulary for plugins.
func (e *Engine) Words() Words { return Words{e} }

// Size is the number of tokens.
func (w Words) Size() int { return w.engine.info.Vocabulary }

// Piece is the bytes that a token shows.
func (w Words) Piece(token int32) string { return w.engine.model.Piece(token) }

// attributes are the plugin ABI's names of llama.cpp's attributes.
var attributes = []struct {
	native native.Attribute
	abi    uint32
}{
	{native.AttributeControl, abi.AttrControl}, {native.AttributeEndOfGeneration, abi.AttrEnd},
	{native.AttributeByte, abi.AttrByte}, {native.AttributeUnused, abi.AttrUnused},
}

// Attributes are the ABI's attribute bits of a token.
func (w Words) Attributes(token int32) (bits uint32) {
	have := w.engine.model.Attributes(token)
	for _, a := range attributes {
		if have&a.native != 0 {
			bits |= a.abi
		}
	}
	return bits
}

// Special is the token of an ABI kind, or -1.
func (w Words) Special(kind int32) int32 {
	special := w.engine.info.Special
	switch kind {
	case abi.SpecialBOS:
		return special.BOS
	case abi.SpecialEOS:
		return special.EOS
	case abi.SpecialEOT:
		return special.EOT
	case abi.SpecialNewline:
		return special.Newline
	}
	return -1
}

// Tokenize turns text into tokens.
func (w Words) Tokenize(text string, addSpecial, parseSpecial bool) ([]int32, error) {
	return w.engine.Tokenize(text, addSpecial, parseSpecial)
}
