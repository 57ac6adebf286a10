// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/native/gguf"
)

// tokens is a vocabulary, and its texts.
type tokens struct {
	*grammar.Vocabulary
	byText  map[string]int32
	longest int // bytes of the longest text
	end     []int32
}

// Types of tokens, as the file has them.
const (
	unknownToken = 2
	controlToken = 3
	byteToken    = 6
)

// readTokens reads the vocabulary of a model.
func readTokens(name string) (*tokens, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		return nil, err
	}
	h, err := gguf.Read(f, stat.Size())
	if err != nil {
		return nil, err
	}
	texts := h.Values["tokenizer.ggml.tokens"].Strings()
	if len(texts) == 0 {
		return nil, fmt.Errorf("%s has no vocabulary", name)
	}
	spell := decodeBPE()
	if h.Values["tokenizer.ggml.model"].Text() != "gpt2" {
		spell = func(s string) []byte { return []byte(strings.ReplaceAll(s, "\u2581", " ")) }
	}
	types := h.Values["tokenizer.ggml.token_type"]
	pieces := make([][]byte, len(texts))
	var special, end []int32
	for i, text := range texts {
		kind := int64(0)
		if i < types.Len() && len(types.Strings()) == 0 {
			kind = types.Int(i)
		}
		switch kind {
		case unknownToken, controlToken:
			special = append(special, int32(i))
		case byteToken:
			b, err := strconv.ParseUint(strings.Trim(text, "<>"), 0, 8)
			if err != nil {
				return nil, fmt.Errorf("token %d, %q, stands for no byte", i, text)
			}
			pieces[i] = []byte{byte(b)}
		default:
			pieces[i] = spell(text)
		}
	}
	if v, ok := h.Values["tokenizer.ggml.eos_token_id"]; ok {
		end = append(end, int32(v.Int(0)))
	}
	return newTokens(pieces, end, special), nil
}

func newTokens(pieces [][]byte, end, special []int32) *tokens {
	t := &tokens{Vocabulary: grammar.NewVocabulary(pieces, end, special), byText: map[string]int32{}, end: end}
	for i, piece := range pieces {
		if len(piece) > 0 {
			t.byText[string(piece)] = int32(i)
			t.longest = max(t.longest, len(piece))
		}
	}
	return t
}

// decodeBPE undoes the alphabet in which GPT-2's vocabularies write bytes: those that print stand for themselves, the
// others are the characters from U+0100 on.
func decodeBPE() func(s string) []byte {
	bytes := map[rune]byte{}
	next := rune(0x100)
	for b := range 256 {
		if b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xAC || b >= 0xAE {
			bytes[rune(b)] = byte(b)
			continue
		}
		bytes[next] = byte(b)
		next++
	}
	return func(s string) []byte {
		out := make([]byte, 0, len(s))
		for _, r := range s {
			b, ok := bytes[r]
			if !ok {
				return []byte(s) // a token that the user defined
			}
			out = append(out, b)
		}
		return out
	}
}

// next is the longest token that text begins with; false where no token is the first byte.
func (t *tokens) next(text []byte) (token int32, size int, ok bool) {
	for size = min(t.longest, len(text)); size > 0; size-- {
		if token, ok = t.byText[string(text[:size])]; ok {
			return token, size, true
		}
	}
	return 0, 0, false
}
