// SPDX-License-Identifier: MIT

package answer

import (
	"strings"

	"github.com/penstock/penstock/scheduler/chain"
)

// rewind takes the text of the last n of all tokens back, and returns what of it was shown: the
// end of the text shown so far. Text of the others that is not shown yet stays held.
func (t *text) rewind(n int, all []chain.Token, v Vocabulary) (removed string) {
	kept, taken := all[:len(all)-n], all[len(all)-n:]
	total := t.shown + len(t.held)
	before := t.ending(kept, v)
	partial := string(t.partial)
	var gone strings.Builder
	for _, token := range taken {
		gone.WriteString(t.Add(v.Piece(token)))
	}
	t.partial = append(t.partial[:0], partial...)
	to := total - gone.Len()
	if to < t.shown {
		removed = gone.String()[:t.shown-to]
		t.shown = to
	}
	t.held = t.held[:to-t.shown]
	for i := range t.rules {
		g := &t.rules[i]
		g.position = min(g.position, to)
		if r, ok := g.rule.(RewindRule); ok {
			r.Rewind(n, gone.Len())
		}
	}
	t.setTail(before)
	return removed
}

// ending is the end of the text of these tokens, of which the beginning of a character that they
// end with is left in t.partial.
func (t *text) ending(tokens []chain.Token, v Vocabulary) []byte {
	t.partial, t.tail = t.partial[:0], t.tail[:0]
	for _, token := range tokens[max(len(tokens)-endingMost, 0):] {
		t.tail = append(t.tail, t.Add(v.Piece(token))...)
	}
	return t.tail
}

// endingMost bounds how many tokens are looked at for that.
const endingMost = 4096

// setTail finds the end of the text shown, where a stop string may begin, in the end of all text.
func (t *text) setTail(ending []byte) {
	longest := 0
	for _, s := range t.stops {
		longest = max(longest, len(s)-1)
	}
	end := max(len(ending)-len(t.held), 0)
	t.tail = append(t.tail[:0], ending[max(end-longest, 0):end]...)
}
