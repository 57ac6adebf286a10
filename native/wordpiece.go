// SPDX-License-Identifier: MIT

package native

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// wordPieceType is LLAMA_VOCAB_TYPE_WPM, BERT's.
const wordPieceType = 3

// maxWord is how many characters a word may have; a longer one is unknown.
const maxWord = 100

// wordPiece turns words into tokens as BERT's own tokenizer does. llama.cpp's differs: it leaves
// Hangul composed, strips vowel signs as if they were accents, which takes away most of Korean,
// Hindi and Bengali, and knows words of any length.
type wordPiece struct {
	once             sync.Once
	tokens           map[string]int32 // by piece: that of a word's beginning has a space before it
	longest          int              // piece, in bytes
	unknown          int32
	lower, noAccents bool
}

func (m *Model) fillWordPiece() {
	w := &m.vocab.wordPiece
	w.tokens, w.unknown = map[string]int32{}, 100 // llama.cpp's, where the file does not say
	if n, err := strconv.ParseInt(m.meta["tokenizer.ggml.unknown_token_id"], 10, 32); err == nil {
		w.unknown = int32(n)
	}
	for token := range int32(len(m.vocab.attributes)) {
		if piece := m.vocab.plain.piece(token); piece != "" && m.vocab.attributes[token]&AttributeNormal != 0 {
			w.tokens[piece], w.longest = token, max(w.longest, len(piece))
		}
	}
	w.lower = m.meta["tokenizer.ggml.normalizer.lowercase"] != "false"
	w.noAccents = w.lower
	if says, ok := m.meta["tokenizer.ggml.normalizer.strip_accents"]; ok {
		w.noAccents = says == "true"
	}
}

// append adds the tokens of a text without special tokens.
func (w *wordPiece) append(ctx context.Context, tokens []int32, text string) ([]int32, error) {
	for word := range w.words(text) {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("tokenize: %w", context.Cause(ctx))
		}
		tokens = w.appendWord(tokens, word)
	}
	return tokens, nil
}

// words yields words and marks, normalised, each with a space before it.
func (w *wordPiece) words(text string) func(yield func(string) bool) {
	if w.noAccents {
		text = norm.NFD.String(strings.Map(cleaned, text))
	}
	return func(yield func(string) bool) {
		word := []byte(" ")
		ends := func() bool {
			whole := string(word)
			word = word[:1]
			return len(whole) == 1 || yield(whole)
		}
		for _, r := range text {
			r = cleaned(r)
			switch alone := isMark(r) || isIdeograph(r); {
			case r < 0 || w.noAccents && unicode.Is(unicode.Mn, r):
			case unicode.IsSpace(r):
				if !ends() {
					return
				}
			case alone:
				if !ends() || !yield(" "+string(r)) {
					return
				}
			case w.lower && r == '\u0130': // the only one that becomes two
				word = append(word, "i\u0307"...)
			case w.lower:
				word = utf8.AppendRune(word, unicode.ToLower(r))
			default:
				word = utf8.AppendRune(word, r)
			}
		}
		ends()
	}
}

// cleaned is -1 for what no text shows. Control characters that are white space elsewhere are gone
// too, but for tabs and ends of lines.
func cleaned(r rune) rune {
	switch {
	case r == '\t' || r == '\n' || r == '\r':
		return ' '
	case r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co):
		return -1
	}
	return r
}

// isMark reports whether a character is a word by itself: punctuation, and all of ASCII that is
// neither a letter nor a digit.
func isMark(r rune) bool {
	return unicode.IsPunct(r) || r > ' ' && r < unicode.MaxASCII && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// ideographs are BERT's ranges of characters that stand alone.
var ideographs = [][2]rune{
	{0x4e00, 0x9fff}, {0x3400, 0x4dbf}, {0x20000, 0x2a6df}, {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf}, {0xf900, 0xfaff}, {0x2f800, 0x2fa1f},
}

func isIdeograph(r rune) bool {
	for _, i := range ideographs {
		if r >= i[0] && r <= i[1] {
			return true
		}
	}
	return false
}

// appendWord adds the longest piece that the word begins with, and so on with the rest. A word of
// which a part is unknown is unknown.
func (w *wordPiece) appendWord(tokens []int32, word string) []int32 {
	before := len(tokens)
	if utf8.RuneCountInString(word) > maxWord+1 {
		return append(tokens, w.unknown)
	}
	rest := strings.ReplaceAll(word, "\u2581", " ") // so it is in a piece
	for rest != "" {
		n, token := w.longestPiece(rest)
		if n == 0 {
			return append(tokens[:before], w.unknown)
		}
		tokens, rest = append(tokens, token), rest[n:]
	}
	return tokens
}

// longestPiece finds the longest piece that a text begins with, and its length.
func (w *wordPiece) longestPiece(text string) (n int, token int32) {
	for n = min(len(text), w.longest); n > 0; n-- {
		if n == len(text) || utf8.RuneStart(text[n]) {
			if token, ok := w.tokens[text[:n]]; ok {
				return n, token
			}
		}
	}
	return 0, 0
}
