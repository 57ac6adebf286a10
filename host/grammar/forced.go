// SPDX-License-Identifier: MIT

package grammar

import (
	"bytes"
	"sort"
)

// maxForced is how many bytes Forced looks ahead.
const maxForced = 4096

// Forced is the bytes that must come next: as far as there is one way to go on, and the text may
// not end.
func (g *Grammar) Forced(s State) ([]byte, error) { return g.forced(s, maxForced, unhurried()) }

// ForcedWithin is the first of the bytes that must come next: at most so many, and no more than are
// found within about so many steps.
func (g *Grammar) ForcedWithin(s State, most, steps int) []byte {
	text, _ := g.forced(s, most, briefly(steps)) // what was found holds
	return text
}

func (g *Grammar) forced(s State, most int, w *work) (text []byte, err error) {
	n := s.node
	if n != nil && g.hasShadow(n) { // what must come there must come here
		if n, err = g.shadowOf(n, w); err != nil {
			return nil, err
		}
	}
	for n != nil && len(text) < most && !n.complete && !n.takesToken() {
		to, b, err := g.only(n, w)
		if err != nil {
			return text, err
		}
		if n = to; n != nil {
			text = append(text, b)
		}
	}
	return text, nil
}

// only is the one byte that may come, and the node after it; nil where others may.
func (g *Grammar) only(n *node, w *work) (to *node, b byte, err error) {
	for c := range 256 {
		next, err := g.step(n, byte(c), w)
		switch {
		case err != nil:
			return nil, 0, err
		case next == dead:
		case to != nil:
			return nil, 0, nil
		default:
			to, b = next, byte(c)
		}
	}
	return to, b, nil
}

// Longer reports whether some token's text begins with a text and is longer.
func (v *Vocabulary) Longer(text []byte) bool {
	sorted := v.all.tokens
	i := sort.Search(len(sorted), func(i int) bool { return bytes.Compare(v.pieces[sorted[i]], text) > 0 })
	return i < len(sorted) && bytes.HasPrefix(v.pieces[sorted[i]], text)
}
