// SPDX-License-Identifier: MIT

package native

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// TestModel_Tokenize_UnknownCharacters: a megabyte of characters that are not in a SentencePiece
// vocabulary took llama.cpp more than a minute, the square of their number. Ordinary texts are
// accepted.
func TestModel_Tokenize_UnknownCharacters(t *testing.T) {
	spm := load(t, filepath.Join(llamaSource(t), "models", "ggml-vocab-llama-spm.gguf"), ModelOptions{VocabOnly: true})
	for name, tc := range map[string]struct {
		text string
		bad  bool
	}{
		"frogs":        {strings.Repeat("🐸", 1<<18), true},
		"lines":        {strings.Repeat("\n", 1<<20), true},
		"some frogs":   {strings.Repeat("🐸", 10_000), false},
		"text":         {strings.Repeat("The quick brown fox jumps over the lazy dog.\n", 10_000), false},
		"known hanzi":  {strings.Repeat("好", 100_000), false},
		"not UTF-8":    {strings.Repeat("\xff", 1<<20), true},
		"a few frogs":  {strings.Repeat("🐸", 5), false},
		"zero letters": {"", false},
	} {
		tokens, err := spm.Tokenize(t.Context(), tc.text, TokenizeOptions{})
		if tc.bad != errors.Is(err, ErrInvalid) || (!tc.bad && (err != nil || len(tokens) == 0 && tc.text != "")) {
			t.Errorf("%s: %d tokens, %v", name, len(tokens), err)
		}
	}
}
