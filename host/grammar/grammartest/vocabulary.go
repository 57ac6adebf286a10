// SPDX-License-Identifier: MIT

// Package grammartest has what tests and benchmarks of grammars share: the vocabulary of a model file, and its tokens for a text.
package grammartest

import (
	"fmt"
	"os"
	"path/filepath"
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

// Load reads the model file that the environment names, or else Llama 3's vocabulary of 128,256 tokens from llama.cpp's source. It skips
// the test where neither is there. up leads from the test's folder to the repository's.
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
	tokens, err := read(path)
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

func read(path string) (*Tokens, error) {
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
	if h.Values["tokenizer.ggml.model"].Text() != "gpt2" {
		return nil, fmt.Errorf("%s: its tokens are not spelt as GPT-2's", path)
	}
	t := &Tokens{byText: map[string]int32{}}
	types := h.Values["tokenizer.ggml.token_type"]
	spelling := bytesOfRunes()
	var special []int32
	for i, text := range h.Values["tokenizer.ggml.tokens"].Strings() {
		piece := []byte(text)
		if kind := types.Int(i); kind == controlToken || kind == unusedToken {
			special = append(special, int32(i))
		} else {
			piece = piece[:0]
			for _, r := range text {
				piece = append(piece, spelling[r])
			}
			t.byText[string(piece)] = int32(i)
			t.longest = max(t.longest, len(piece))
		}
		t.Pieces = append(t.Pieces, piece)
		switch text {
		case "<|eot_id|>", "<|end_of_text|>", "<|eom_id|>", "<|im_end|>", "<|endoftext|>":
			t.End = append(t.End, int32(i))
		}
	}
	t.Vocabulary = grammar.NewVocabulary(t.Pieces, t.End, special)
	return t, nil
}

// bytesOfRunes is how GPT-2 spells bytes: those that can be printed as themselves, the others as the characters from U+0100 on.
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

// Of returns tokens of a text: always the longest that comes next.
func (t *Tokens) Of(text string) []int32 {
	var tokens []int32
	for len(text) > 0 {
		n := min(t.longest, len(text))
		for ; n > 1; n-- {
			if _, ok := t.byText[text[:n]]; ok {
				break
			}
		}
		tokens = append(tokens, t.byText[text[:n]])
		text = text[n:]
	}
	return tokens
}
