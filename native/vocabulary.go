// SPDX-License-Identifier: MIT

package native

// #include "penstock.h"
import "C"

import (
	"context"
	"fmt"
	"slices"
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

// vocabulary is copied out of C once, so that asking for a token's bytes calls nothing and
// allocates nothing.
type vocabulary struct {
	plain, special table
	attributes     []Attribute
	kind           int // llama_vocab_type
	alphabet       alphabet
	wordPiece      wordPiece
	specials       specials
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
	if err := failure(C.ps_vocabulary_attributes(c, (*C.int32_t)(unsafe.Pointer(&v.attributes[0])), &e), &e); err != nil {
		return err
	}
	return v.specials.load(c, v.attributes)
}

// Piece returns the bytes of a token; control tokens, and tokens outside the vocabulary, have
// none. It does not allocate.
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

// Tokenize turns text into tokens, as llama.cpp does. A text that llama.cpp would take too long
// for is an ErrInvalid. When ctx is done it ends with its cause: at once where special tokens part
// the text, else after the piece that llama.cpp works on.
func (m *Model) Tokenize(ctx context.Context, text string, o TokenizeOptions) ([]int32, error) {
	if err := m.enter(); err != nil {
		return nil, err
	}
	defer m.leave()
	if err := m.checkWork(text); err != nil {
		return nil, fmt.Errorf("tokenize: %w", err)
	}
	pieces := m.vocab.specials.split(text, o.ParseSpecial)
	plain := TokenizeOptions{AddSpecial: o.AddSpecial} // what is left has no special tokens
	if len(pieces) == 0 {
		tokens, err := m.appendTokens(ctx, nil, text, plain)
		return append([]int32(nil), tokens...), err // without the room that was left
	}
	around, err := m.appendTokens(ctx, nil, "", plain)
	if err != nil {
		return nil, err
	}
	begins := len(around) // of those, the ones that stand before the text
	if begins > 1 || begins == 1 && !m.info.AddBOS {
		begins--
	}
	tokens, at := append([]int32(nil), around[:begins]...), 0
	for _, f := range append(pieces, found{noSpecial, len(text), len(text)}) {
		if at < f.begin { // llama.cpp puts a space before each such piece, where it puts one before a text
			if tokens, err = m.appendTokens(ctx, tokens, text[at:f.begin], TokenizeOptions{}); err != nil {
				return nil, err
			}
		}
		if f.special != noSpecial {
			tokens = append(tokens, m.vocab.specials.tokens[f.special].token)
		}
		at = f.end
	}
	return append(tokens, around[begins:]...), nil
}

// appendTokens turns a text without special tokens into tokens.
func (m *Model) appendTokens(ctx context.Context, tokens []int32, text string, o TokenizeOptions) ([]int32, error) {
	if m.vocab.kind != wordPieceType || text == "" {
		return m.appendLlamaTokens(ctx, tokens, text, o)
	}
	m.vocab.wordPiece.once.Do(m.fillWordPiece)
	if !o.AddSpecial {
		return m.vocab.wordPiece.append(ctx, tokens, text)
	}
	around, err := m.appendLlamaTokens(ctx, nil, "", o) // [CLS] and [SEP]
	if err != nil {
		return nil, err
	}
	begins := min(1, len(around))
	if tokens, err = m.vocab.wordPiece.append(ctx, append(tokens, around[:begins]...), text); err != nil {
		return nil, err
	}
	return append(tokens, around[begins:]...), nil
}

// appendLlamaTokens has llama.cpp turn a text into tokens.
func (m *Model) appendLlamaTokens(ctx context.Context, tokens []int32, text string, o TokenizeOptions) ([]int32, error) {
	room := len(text) + 8 // most often enough: a token is a byte or more, plus those added
	for {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("tokenize: %w", context.Cause(ctx))
		}
		tokens = slices.Grow(tokens, room)
		free := tokens[len(tokens):cap(tokens)]
		var e C.ps_error
		var n C.size_t
		code := C.ps_tokenize(m.c(), textPointer(text), C.size_t(len(text)), C._Bool(o.AddSpecial), C._Bool(o.ParseSpecial),
			(*C.int32_t)(unsafe.Pointer(&free[0])), C.size_t(len(free)), &n, &e)
		if err := failure(code, &e); err != nil {
			return nil, fmt.Errorf("tokenize: %w", err)
		}
		if int(n) <= len(free) {
			return tokens[:len(tokens)+int(n)], nil
		}
		room = int(n)
	}
}

// DetokenizeOptions say how special tokens are shown.
type DetokenizeOptions struct {
	UnparseSpecial bool // show control tokens as text
}

// Detokenize turns tokens into text. It is the inverse of Tokenize: a leading space that
// tokenising adds is removed.
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
