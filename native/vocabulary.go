// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import (
	"fmt"
	"unsafe"
)

// Attribute tells what kind of token a token is.
type Attribute int32

// The attributes of a token, as bits.
const (
	AttributeUnknown         Attribute = 1 << 0
	AttributeUnused          Attribute = 1 << 1
	AttributeNormal          Attribute = 1 << 2
	AttributeControl         Attribute = 1 << 3
	AttributeUserDefined     Attribute = 1 << 4
	AttributeByte            Attribute = 1 << 5
	AttributeEndOfGeneration Attribute = C.PS_END_OF_GENERATION
)

// vocabulary is copied out of C once, so that asking for a token's bytes calls nothing and allocates nothing.
type vocabulary struct {
	plain, special table
	attributes     []Attribute
	kind           int // llama_vocab_type
	alphabet       alphabet
}

// table holds the bytes of all tokens end to end.
type table struct {
	text    string
	offsets []uint32 // token t is text[offsets[t]:offsets[t+1]]
}

func (t *table) piece(token int32) string {
	if token < 0 || int(token) >= len(t.offsets)-1 {
		return ""
	}
	return t.text[t.offsets[token]:t.offsets[token+1]]
}

func (t *table) load(c *C.ps_model, n int, special bool) error {
	var e C.ps_error
	var text C.ps_text
	t.offsets = make([]uint32, n+1)
	code := C.ps_vocabulary_pieces(c, C._Bool(special), &text, (*C.uint32_t)(unsafe.Pointer(&t.offsets[0])), &e)
	if err := failure(code, &e); err != nil {
		return err
	}
	t.text = takeText(&text)
	return nil
}

func (v *vocabulary) load(c *C.ps_model, n int) error {
	if err := v.plain.load(c, n, false); err != nil {
		return err
	}
	if err := v.special.load(c, n, true); err != nil {
		return err
	}
	v.attributes = make([]Attribute, n)
	var e C.ps_error
	return failure(C.ps_vocabulary_attributes(c, (*C.int32_t)(unsafe.Pointer(&v.attributes[0])), &e), &e)
}

// Piece returns the bytes of a token; control tokens, and tokens outside the vocabulary, have none. It does not
// allocate.
func (m *Model) Piece(token int32) string { return m.vocab.plain.piece(token) }

// SpecialPiece is Piece with the text of control tokens.
func (m *Model) SpecialPiece(token int32) string { return m.vocab.special.piece(token) }

// EndOfGeneration reports whether the token ends an answer.
func (m *Model) EndOfGeneration(token int32) bool {
	return m.Attributes(token)&AttributeEndOfGeneration != 0
}

// Attributes returns the kind of a token; 0 outside the vocabulary.
func (m *Model) Attributes(token int32) Attribute {
	if token < 0 || int(token) >= len(m.vocab.attributes) {
		return 0
	}
	return m.vocab.attributes[token]
}

// TokenizeOptions say what is recognised or added besides plain text.
type TokenizeOptions struct {
	AddSpecial   bool // begin and end tokens, where the model wants them
	ParseSpecial bool // the text of control tokens becomes those tokens
}

// Tokenize turns text into tokens. A text that llama.cpp would take too long for is an ErrInvalid.
func (m *Model) Tokenize(text string, o TokenizeOptions) ([]int32, error) {
	if err := m.enter(); err != nil {
		return nil, err
	}
	defer m.leave()
	if err := m.checkUnknownCharacters(text); err != nil {
		return nil, fmt.Errorf("tokenize: %w", err)
	}
	tokens := make([]int32, len(text)+8) // most often enough: a token is a byte or more, plus those added
	for {
		var e C.ps_error
		var n C.size_t
		code := C.ps_tokenize(m.c(), textPointer(text), C.size_t(len(text)), C._Bool(o.AddSpecial),
			C._Bool(o.ParseSpecial), (*C.int32_t)(unsafe.Pointer(&tokens[0])), C.size_t(len(tokens)), &n, &e)
		if err := failure(code, &e); err != nil {
			return nil, fmt.Errorf("tokenize: %w", err)
		}
		if int(n) <= len(tokens) {
			return append([]int32(nil), tokens[:n]...), nil
		}
		tokens = make([]int32, n)
	}
}

// DetokenizeOptions say how special tokens are shown.
type DetokenizeOptions struct {
	UnparseSpecial bool // show control tokens as text
}

// Detokenize turns tokens into text. It is the inverse of Tokenize: a leading space that tokenising adds is removed.
func (m *Model) Detokenize(tokens []int32, o DetokenizeOptions) (string, error) {
	if err := m.enter(); err != nil {
		return "", err
	}
	defer m.leave()
	if len(tokens) == 0 {
		return "", nil
	}
	text := make([]byte, 8*len(tokens)+16)
	for {
		var e C.ps_error
		var n C.size_t
		code := C.ps_detokenize(m.c(), (*C.int32_t)(unsafe.Pointer(&tokens[0])), C.size_t(len(tokens)),
			C._Bool(o.UnparseSpecial), (*C.char)(unsafe.Pointer(&text[0])), C.size_t(len(text)), &n, &e)
		if err := failure(code, &e); err != nil {
			return "", fmt.Errorf("detokenize: %w", err)
		}
		if int(n) <= len(text) {
			return string(text[:n]), nil
		}
		text = make([]byte, n)
	}
}
