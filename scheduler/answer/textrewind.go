// SPDX-License-Identifier: MIT

package answer

import "github.com/penstock/penstock/scheduler/chain"

// rewind takes the text of the last n tokens back; kept are the tokens that stay. Their text that is not shown yet stays held. Text
// of the others that was shown stays shown.
func (t *text) rewind(n int, kept []chain.Token, v Vocabulary) {
	to := t.shown
	if n <= len(t.starts) {
		to = t.starts[len(t.starts)-n]
	}
	t.starts = t.starts[:max(len(t.starts)-n, 0)]
	taken := len(t.held)
	t.held = t.held[:to-t.shown]
	taken -= len(t.held)
	for i := range t.rules {
		g := &t.rules[i]
		g.position = min(g.position, to)
		if r, ok := g.rule.(RewindRule); ok {
			r.Rewind(taken)
		}
	}
	t.rebuild(kept, v)
}

// rebuild finds out again what the tokens that stay end with: an incomplete character, and the end of their text that was shown, where
// a stop string may begin.
func (t *text) rebuild(kept []chain.Token, v Vocabulary) {
	t.partial, t.tail = t.partial[:0], t.tail[:0]
	for _, token := range kept[max(len(kept)-rebuildMost, 0):] {
		t.tail = append(t.tail, t.join(v.Piece(token))...)
	}
	longest := 0
	for _, s := range t.stops {
		longest = max(longest, len(s)-1)
	}
	end := max(len(t.tail)-len(t.held), 0)
	t.tail = append(t.tail[:0], t.tail[max(end-longest, 0):end]...)
}

// rebuildMost bounds how many tokens are looked at for that.
const rebuildMost = 4096
