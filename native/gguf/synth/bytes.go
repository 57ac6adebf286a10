// SPDX-License-Identifier: MIT

package synth

import (
	"fmt"
	"io"

	"github.com/penstock/penstock/native/gguf"
)

// WithBytes copies the model file at path to w with a byte-level vocabulary of as many tokens as
// it had, so that a model without a usable vocabulary can be served. Token n stands for byte n,
// tokens from 256 on for texts like <256>. No token ends an answer.
func WithBytes(w io.Writer, path string) error {
	return Edit(w, path, func(h *gguf.Header) { setBytes(h, len(h.Values["tokenizer.ggml.tokens"].Strings())) })
}

// setBytes gives a header a vocabulary of n tokens that needs no merges.
func setBytes(h *gguf.Header, n int) {
	letters := byteLetters()
	tokens := make([]string, n)
	for i := range tokens {
		if i < len(letters) {
			tokens[i] = string(letters[i])
		} else {
			tokens[i] = fmt.Sprintf("<%d>", i)
		}
	}
	for _, k := range []struct {
		key   string
		value gguf.Value
	}{
		{"model", gguf.NewString("gpt2")}, {"pre", gguf.NewString("gpt-2")}, {"tokens", gguf.NewStrings(tokens...)}, {"merges", gguf.NewStrings()},
		{"add_bos_token", gguf.NewBool(false)}, {"bos_token_id", gguf.NewUint32(0)}, {"eos_token_id", gguf.NewUint32(0)},
	} {
		h.Set("tokenizer.ggml."+k.key, k.value)
	}
}

// byteLetters are the letters by which GPT-2's vocabulary writes the 256 bytes: the printable ones
// of Latin-1 stand for themselves, the others are counted from U+0100.
func byteLetters() [256]rune {
	var letters [256]rune
	next := rune(256)
	for b := range letters {
		switch r := rune(b); {
		case r >= '!' && r <= '~', r >= '¡' && r <= '¬', r >= '®':
			letters[b] = r
		default:
			letters[b] = next
			next++
		}
	}
	return letters
}
