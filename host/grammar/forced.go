// SPDX-License-Identifier: MIT

package grammar

import (
	"bytes"
	"sort"
)

// Forced is the bytes that must come next: as far as there is one way to go on, and the text may
// not end. There are at most so many, and no more than are found within about so many steps.
func (g *Grammar) Forced(s State, most, steps int) (text []byte) {
	w := briefly(steps)
	n := s.node
	if n != nil && g.hasShadow(n) { // what must come there must come here
		var err error
		if n, err = g.shadowOf(n, w); err != nil {
			return nil
		}
	}
	for n != nil && len(text) < most && !n.complete && !n.takesToken() {
		next, err := g.only(n, w)
		if err != nil {
			return text
		}
		if n = next.to; n != nil {
			text = append(text, next.by)
		}
	}
	return text
}

// sole is the only step from a node.
type sole struct {
	by byte
	to *node // nil: there are several
}

var several = &sole{}

// only is the only step from a node. It is looked for once: the tick asks at each token of an
// answer.
func (g *Grammar) only(n *node, w *work) (*sole, error) {
	if known := n.sole.Load(); known != nil {
		return known, nil
	}
	found := several
	for c := range 256 {
		to, err := g.step(n, byte(c), w)
		if err != nil {
			return several, err
		}
		if to == dead {
			continue
		}
		if found != several {
			found = several
			break
		}
		found = &sole{byte(c), to}
	}
	n.sole.Store(found)
	return found, nil
}

// Longer reports whether some token's text begins with a text and is longer.
func (v *Vocabulary) Longer(text []byte) bool {
	sorted := v.all.tokens
	i := sort.Search(len(sorted), func(i int) bool { return bytes.Compare(v.pieces[sorted[i]], text) > 0 })
	return i < len(sorted) && bytes.HasPrefix(v.pieces[sorted[i]], text)
}
