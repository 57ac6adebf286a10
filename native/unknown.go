// SPDX-License-Identifier: MIT

package native

import (
	"fmt"
	"sync"
	"unicode/utf8"
)

// sentencePiece is llama.cpp's number of vocabularies as SentencePiece writes them.
const sentencePiece = 1

// maxCopied bounds the tokens that llama.cpp copies for a text with such a vocabulary: at each character that the vocabulary does not
// have it makes room for a few bytes and copies all tokens so far. It is about a second's work.
const maxCopied = 4_000_000_000

// alphabet is the characters of a vocabulary, a bit each, those of byte tokens left out.
type alphabet struct {
	once sync.Once
	bits []uint64
}

func (a *alphabet) has(r rune) bool { return a.bits[r>>6]>>(r&63)&1 != 0 }

func (m *Model) fillAlphabet() {
	m.vocab.alphabet.bits = make([]uint64, (utf8.MaxRune+64)/64)
	for t := range m.vocab.attributes {
		if m.vocab.attributes[t]&AttributeByte != 0 {
			continue
		}
		for _, r := range m.SpecialPiece(int32(t)) {
			m.vocab.alphabet.bits[r>>6] |= 1 << (r & 63)
		}
	}
}

// checkUnknown refuses a text with too many characters that the vocabulary writes byte by byte.
func (m *Model) checkUnknown(text string) error {
	if m.vocab.kind != sentencePiece || len(text) < 1<<14 {
		return nil
	}
	m.vocab.alphabet.once.Do(m.fillAlphabet)
	tokens, copied, unknown := 0.0, 0.0, 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		if (r != utf8.RuneError || size > 1) && m.vocab.alphabet.has(r) {
			tokens += 0.25 // characters that are known are joined, most often
			continue
		}
		unknown++
		tokens += float64(size)
		copied += tokens
	}
	if copied > maxCopied {
		return fmt.Errorf("%w: the text has %d bytes, with %d characters that are not in the model's vocabulary; so many take too long: send less at a time",
			ErrInvalid, len(text), unknown)
	}
	return nil
}
