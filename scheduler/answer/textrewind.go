// SPDX-License-Identifier: MIT

package answer

import "github.com/penstock/penstock/scheduler/chain"

// rewind takes the text of the last n tokens back; kept are those that stay. What they have not shown yet stays held, what the
// others have shown stays shown.
func (t *text) rewind(n int, kept []chain.Token, v Vocabulary) {
	to := t.shown
	if n <= len(t.begins) {
		to = t.begins[len(t.begins)-n]
	}
	t.begins = t.begins[:max(len(t.begins)-n, 0)]
	taken := len(t.held)
	t.held = t.held[:to-t.shown]
	taken -= len(t.held)
	for i := range t.gates {
		g := &t.gates[i]
		g.release = min(g.release, to)
		if r, ok := g.rule.(RewindRule); ok {
			r.Rewind(taken)
		}
	}
	t.recall(kept, v)
}

// recall finds out again what tokens that stay had left behind: the incomplete character at their end, and the end of what was
// shown of them, in which a stop string may begin.
func (t *text) recall(kept []chain.Token, v Vocabulary) {
	t.partial, t.before = t.partial[:0], t.before[:0]
	for _, token := range kept[max(len(kept)-recalled, 0):] {
		t.before = append(t.before, t.join(v.Piece(token))...)
	}
	longest := 0
	for _, s := range t.stops {
		longest = max(longest, len(s)-1)
	}
	end := max(len(t.before)-len(t.held), 0)
	t.before = append(t.before[:0], t.before[max(end-longest, 0):end]...)
}

// recalled bounds how many tokens are looked at for that.
const recalled = 4096
