// SPDX-License-Identifier: MIT

package grammar

import (
	"errors"
	"math/bits"
	"slices"
)

// MaskCompletable is Mask without the tokens after which fewer tokens are left than complete the
// text, of so many with the one that comes next. Where to find out takes more than a bounded
// number of steps, it leaves out more, but never all: in the end all but the longest token of the
// shortest text. False: so many do not complete the text, and the mask is empty.
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
	m := &narrowing{completions: newCompletions(g, v), state: n, mask: mask, left: tokens - 1, verdicts: map[*node]verdict{}}
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
	shared := n // whose tokens are looked at
	if !n.takesToken() {
		if shared, failed = m.shadow(n); failed != nil {
			clear(mask)
			return false, failed
		}
	}
	if known := shared.reach.Load(); err == nil && known != nil && known.vocabulary == v && known.bytes <= m.left && v.spells {
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
		if m.state, err = g.current(n, &m.work); err == nil {
			err = m.narrow(shared)
		}
	}
	if err != nil && !errors.Is(err, ErrAmbiguous) {
		return false, err
	}
	if err == nil {
		shared.reach.Store(&reach{v, m.longest})
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
	state    *node
	allowed  []uint32 // by the grammar
	mask     []uint32
	left     int // tokens after the next
	longest  int // rest after a token, in bytes
	verdicts map[*node]verdict
	last     *node // that was looked at: most often the next is the same
	lastIs   verdict
}

// verdict is whether enough tokens are left after a node.
type verdict uint8

const (
	tooFew verdict = iota + 1
	enough
	unsure // it is a shadow, of which that depends on the state
)

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
	is := m.lastIs
	if to != m.last {
		if is = m.verdicts[to]; is == 0 {
			var err error
			if is, err = m.judge(to); err != nil {
				return err
			}
			m.verdicts[to] = is
		}
		m.last, m.lastIs = to, is
	}
	if m.allowed[token>>5]>>(token&31)&1 == 0 { // by the state, though its shadow allows it
		return nil
	}
	if is == unsure {
		own, err := m.g.token(m.state, m.v, token, &m.work)
		if err == nil {
			is, err = m.judge(own)
		}
		if err != nil {
			return err
		}
	}
	if is == enough {
		setBit(m.mask, token)
	}
	return nil
}

// judge looks at a node for the first time.
func (m *narrowing) judge(n *node) (verdict, error) {
	bytes, err := m.g.Shortest(State{n})
	fits := false
	if err == nil {
		fits, err = m.within(n, m.left)
	}
	switch {
	case errors.Is(err, ErrAmbiguous):
		return tooFew, err
	case errors.Is(err, errUnsure):
		m.longest = max(m.longest, bytes)
		return unsure, nil
	case err != nil: // nobody can tell
		m.longest = never
		return tooFew, nil //nolint:nilerr // it is an answer
	}
	m.longest = max(m.longest, bytes)
	if fits {
		return enough, nil
	}
	return tooFew, nil
}
