// SPDX-License-Identifier: MIT

// Package grammartest has what tests and benchmarks of grammars share: the vocabulary of a model
// file, random JSON schemas, and a check of answers to them.
package grammartest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/penstock/penstock/host/grammar"
	"github.com/penstock/penstock/native/gguf"
)

// vocabularyEnv names the model file, whose tokens are spelt as GPT-2's.
const vocabularyEnv = "PENSTOCK_GRAMMAR_VOCABULARY"

// The types of tokens in a model file.
const (
	controlToken = 3
	unusedToken  = 5
)

// Tokens are those of a model file.
type Tokens struct {
	*grammar.Vocabulary
	Pieces [][]byte
	End    []int32 // end-of-generation tokens

	byText  map[string]int32
	longest int
}

// Load reads the model file that the environment names, or else Llama 3's vocabulary of 128,256
// tokens from llama.cpp's source. It skips the test where neither is there. up leads from the
// test's folder to the repository's.
func Load(t testing.TB, up string) *Tokens {
	t.Helper()
	path := os.Getenv(vocabularyEnv)
	if path == "" {
		found, err := filepath.Glob(filepath.Join(up, "build", "llama.cpp", "source-*", "models", "ggml-vocab-llama-bpe.gguf"))
		if err != nil || len(found) == 0 {
			t.Skipf("no vocabulary: %s names none, and llama.cpp's source is not there", vocabularyEnv)
		}
		path = found[0]
	}
	tokens, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

// Read reads a model file's vocabulary, spelt as GPT-2's or as SentencePiece's.
func Read(path string) (*Tokens, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	h, err := gguf.Read(file, info.Size())
	if err != nil {
		return nil, err
	}
	texts := h.Values["tokenizer.ggml.tokens"].Strings()
	if len(texts) == 0 {
		return nil, fmt.Errorf("%s has no vocabulary", path)
	}
	t := &Tokens{byText: map[string]int32{}}
	spell := spellings[h.Values["tokenizer.ggml.model"].Text()]
	if spell == nil {
		spell = sentencePiece
	}
	var special []int32
	for i, text := range texts {
		piece := []byte(text)
		if kind := kindOf(h, i); kind == controlToken || kind == unusedToken {
			special = append(special, int32(i))
		} else {
			piece = spell(text)
			t.byText[string(piece)] = int32(i)
			t.longest = max(t.longest, len(piece))
		}
		t.Pieces = append(t.Pieces, piece)
		switch text {
		case "<|eot_id|>", "<|end_of_text|>", "<|eom_id|>", "<|im_end|>", "<|endoftext|>", "</s>", "<end_of_turn>":
			t.End = append(t.End, int32(i))
		}
	}
	if eos, ok := h.Values["tokenizer.ggml.eos_token_id"]; ok && !slices.Contains(t.End, int32(eos.Int(0))) {
		t.End = append(t.End, int32(eos.Int(0)))
	}
	t.Vocabulary = grammar.NewVocabulary(t.Pieces, t.End, special)
	return t, nil
}

// kindOf is a token's type; 0 in a file that tells none.
func kindOf(h *gguf.Header, token int) int64 {
	types := h.Values["tokenizer.ggml.token_type"]
	if types.Type != gguf.Array || types.Elem == gguf.String || token >= types.Len() {
		return 0
	}
	return types.Int(token)
}

// spellings make the bytes of a token from its text, by the kind of vocabulary.
var spellings = map[string]func(text string) []byte{"gpt2": gpt2()}

// gpt2 reads bytes as GPT-2's vocabularies spell them. Texts that have other characters are meant
// as they are.
func gpt2() func(text string) []byte {
	spelling := bytesOfRunes()
	return func(text string) []byte {
		var piece []byte
		for _, r := range text {
			b, ok := spelling[r]
			if !ok {
				return []byte(text)
			}
			piece = append(piece, b)
		}
		return piece
	}
}

// sentencePiece reads bytes as <0x41>, and U+2581 as a space.
func sentencePiece(text string) []byte {
	if digits, ok := strings.CutPrefix(text, "<0x"); ok && len(text) == len("<0x41>") {
		if b, err := strconv.ParseUint(digits[:2], 16, 8); err == nil {
			return []byte{byte(b)}
		}
	}
	return []byte(strings.ReplaceAll(text, "\u2581", " "))
}

// bytesOfRunes is how GPT-2 spells bytes: those that can be printed as themselves, the others as
// the characters from U+0100 on.
func bytesOfRunes() map[rune]byte {
	spelling := map[rune]byte{}
	next := rune(0x100)
	for b := range 256 {
		if b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae {
			spelling[rune(b)] = byte(b)
		} else {
			spelling[next] = byte(b)
			next++
		}
	}
	return spelling
}

// Of returns tokens of a text: always the longest that comes next. It ends where no token begins
// with the next byte.
func (t *Tokens) Of(text string) []int32 {
	var tokens []int32
	for len(text) > 0 {
		n := min(t.longest, len(text))
		for ; n > 0; n-- {
			if token, ok := t.byText[text[:n]]; ok {
				tokens = append(tokens, token)
				break
			}
		}
		if n == 0 {
			break
		}
		text = text[n:]
	}
	return tokens
}
