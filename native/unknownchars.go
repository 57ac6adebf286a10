// SPDX-License-Identifier: MIT

package native

import (
	"fmt"
	"sync"
	"unicode/utf8"
)

// sentencePiece is LLAMA_VOCAB_TYPE_SPM.
const sentencePiece = 1

// maxCopied bounds the tokens that llama.cpp copies for a text with such a vocabulary: at each
// character that is not in the vocabulary it copies all tokens so far, to make room for a few
// more. This many take about a second.
const maxCopied = 4_000_000_000

// alphabet is the set of characters of a vocabulary without its byte tokens, one bit each.
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

// checkUnknownCharacters refuses a text with too many characters that are not in the vocabulary,
// and so become a token for each byte.
func (m *Model) checkUnknownCharacters(text string) error {
	if m.vocab.kind != sentencePiece || len(text) < 1<<14 {
		return nil
	}
	m.vocab.alphabet.once.Do(m.fillAlphabet)
	tokens, copied, unknown := 0.0, 0.0, 0
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		if (r != utf8.RuneError || size > 1) && m.vocab.alphabet.has(r) {
			tokens += 0.25 // known characters are most often joined
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
