// SPDX-License-Identifier: MIT

package grammar

import (
	"errors"
	"math/bits"
	"slices"
)

// MaskCompletable is Mask without the tokens after which fewer tokens are left than complete the text, of so many with the one that comes next.
// Where to find out takes more than a bounded number of steps, it leaves out more, but never all: in the end all but the longest token of
// the shortest text. False: so many do not complete the text, and the mask is empty.
//
// # Errors
//
//   - as those of Completes
func (g *Grammar) MaskCompletable(s State, v *Vocabulary, tokens int, mask []uint32) (bool, error) {
	err := g.Mask(s, v, mask)
	if err != nil && !errors.Is(err, ErrAmbiguous) {
		return false, err
	}
	n := s.node
	if n == nil {
		return false, nil
	}
	m := &narrowing{completions: newCompletions(g, v), mask: mask, left: tokens - 1, verdicts: map[*node]bool{}}
	fits, failed := m.within(n, tokens)
	if errors.Is(failed, ErrAmbiguous) {
		clear(mask)
		m.work.left = maxWork
		token, err := m.farthest(n)
		if err == nil {
			setBit(mask, token)
		}
		return err == nil, err
	}
	if !fits || failed != nil {
		clear(mask)
		return false, failed
	}
	if known := n.reach.Load(); err == nil && known != nil && known.vocabulary == v && known.bytes <= m.left && v.spells {
		return true, nil
	}
	m.allowed = slices.Clone(mask)
	clear(mask)
	if n.complete {
		for _, token := range v.end {
			setBit(mask, token)
		}
	}
	if err == nil {
		err = m.narrow(n)
	}
	if err != nil && !errors.Is(err, ErrAmbiguous) {
		return false, err
	}
	if err == nil {
		n.reach.Store(&reach{v, m.longest})
	}
	if n.complete {
		return true, nil
	}
	m.work.left = maxWork
	rest, err := m.of(n)
	if err == nil {
		setBit(mask, rest.first)
	}
	return true, err
}

// reach is how many bytes are missing at most after any token that a node allows, for a vocabulary.
type reach struct {
	vocabulary *Vocabulary
	bytes      int
}

// narrowing is the making of a mask of fewer tokens.
type narrowing struct {
	*completions
	allowed  []uint32 // by the grammar
	mask     []uint32
	left     int // tokens after the next
	longest  int // rest after a token, in bytes
	verdicts map[*node]bool
	last     *node // that was looked at: most often the next is the same
	lastFits bool
}

func (m *narrowing) narrow(n *node) error {
	if n.takesToken() {
		return m.each(n)
	}
	t := &m.v.all
	path := make([]*node, t.depth+1)
	path[0] = n
	for i := 0; i < len(t.nodes)-1; {
		at := &t.nodes[i]
		to := path[at.depth].after(at.label)
		if to == nil || to == ambiguous {
			var err error
			if path[at.depth], to, err = m.g.stepHome(path[at.depth], at.label, &m.work); err != nil {
				return err
			}
		}
		if to == dead {
			i = int(at.skip)
			continue
		}
		path[at.depth+1] = to
		for _, token := range t.tokens[at.first:t.nodes[i+1].first] {
			if err := m.consider(token, to); err != nil {
				return err
			}
		}
		i++
	}
	return nil
}

// each is narrow where tokens may come for their number.
func (m *narrowing) each(n *node) error {
	for w, word := range m.allowed {
		for ; word != 0; word &= word - 1 {
			token := int32(32*w + bits.TrailingZeros32(word))
			if m.v.isEnd[token] {
				continue
			}
			to, err := m.follow(n, named+token)
			if err == nil {
				err = m.consider(token, to)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// consider allows a token where enough are left after it.
func (m *narrowing) consider(token int32, to *node) error {
	if m.allowed[token>>5]>>(token&31)&1 == 0 {
		return nil
	}
	fits, known := m.lastFits, to == m.last
	if !known {
		fits, known = m.verdicts[to]
	}
	if !known {
		bytes, err := m.g.Shortest(State{to})
		if err == nil {
			fits, err = m.within(to, m.left)
		}
		if errors.Is(err, ErrAmbiguous) {
			return err
		}
		if err != nil { // nobody can tell
			bytes, fits = never, false
		}
		m.longest = max(m.longest, bytes)
		m.verdicts[to] = fits
	}
	m.last, m.lastFits = to, fits
	if fits {
		setBit(m.mask, token)
	}
	return nil
}
