// SPDX-License-Identifier: MIT

package openai

import (
	"strings"
	"unicode/utf8"

	"github.com/penstock/penstock/host/serving"
	"github.com/penstock/penstock/scheduler"
)

// offsets count the characters of a text in which tokens follow each other, as clients do that cut
// the text there. A token that begins within a character begins where that does.
type offsets struct{ begun int } // characters

// next is where a token with this text begins, which is then part of the text.
func (o *offsets) next(text string) int {
	at := o.begun
	if text != "" && !utf8.RuneStart(text[0]) {
		at = max(at-1, 0)
	}
	for i := range len(text) {
		if utf8.RuneStart(text[i]) {
			o.begun++
		}
	}
	return at
}

// promptOffsets are where the tokens of a prompt begin in its text as the client gave it. Tokens
// that the model wants before the text have none of it, nor has a space that its vocabulary puts
// there.
func promptOffsets(engine serving.Engine, text string, tokens []scheduler.Token) []int {
	var count offsets
	at := make([]int, len(tokens))
	for i, t := range tokens {
		n := extent(engine, text, t)
		at[i] = count.next(text[:n])
		text = text[n:]
	}
	return at
}

// extent is how many bytes of a text its first token has.
func extent(engine serving.Engine, text string, t scheduler.Token) int {
	piece, shown := engine.Piece(t), engine.Shown(t)
	for _, s := range []string{piece, shown, strings.TrimPrefix(piece, " ")} {
		if s != "" && strings.HasPrefix(text, s) {
			return len(s)
		}
	}
	if shown == "" { // a control token that the text does not name
		return 0
	}
	return min(len(piece), len(text))
}
