// SPDX-License-Identifier: MIT

package grammar

import "errors"

// Token is the state after a token; false where it may not come. A token may come for its text, for
// its number, or for both. After an end-of-generation token, which may come where the text may end,
// the state is as before.
//
// # Errors
//
//   - ErrAmbiguous: to follow the token takes more than a bounded number of steps.
func (g *Grammar) Token(s State, v *Vocabulary, token int32) (State, bool, error) {
	return g.after(s, v, token, unhurried())
}

func (g *Grammar) after(s State, v *Vocabulary, token int32, w *work) (State, bool, error) {
	if s.node == nil || !v.has(token) {
		return s, false, nil
	}
	if v.isEnd[token] {
		return s, s.node.complete, nil
	}
	to, err := g.token(s.node, v, token, w)
	if err != nil || to == dead {
		return s, false, err
	}
	return State{to}, true, nil
}

// Few sets the bits in mask of those of some tokens that may come, the likeliest first, where a
// whole mask takes too long. All of them together take no more steps than one Mask may. It returns
// how many it has looked at; of those that take too many steps themselves it sets none.
func (g *Grammar) Few(s State, v *Vocabulary, tokens []int32, mask []uint32) (int, error) {
	if len(mask) != v.Words() {
		return 0, errMask
	}
	w := unhurried()
	for i, token := range tokens {
		if s.node == nil || !v.has(token) {
			continue
		}
		fits := v.isEnd[token] && s.node.complete
		if !v.isEnd[token] {
			to, err := g.token(s.node, v, token, w)
			if w.left <= 0 {
				return i, nil
			}
			if err != nil && !errors.Is(err, ErrAmbiguous) {
				return i, err
			}
			fits = err == nil && to != dead
		}
		if fits {
			setBit(mask, token)
		}
	}
	return len(tokens), nil
}

// token is the node after a token that is no end of generation, or dead.
func (g *Grammar) token(n *node, v *Vocabulary, token int32, w *work) (*node, error) {
	to := dead
	if piece := v.pieces[token]; len(piece) > 0 {
		to = n
		for _, b := range piece {
			var err error
			if to, err = g.step(to, b, w); err != nil {
				return dead, err
			}
			if to == dead {
				break
			}
		}
	}
	if n.takesToken() && v.isNamed[token] {
		return g.named(n, to, token, w)
	}
	return to, nil
}

// named is the node after a token that comes for its number, joined with the one after its text.
func (g *Grammar) named(n, text *node, token int32, w *work) (to *node, err error) {
	if err := g.lock(w); err != nil {
		return dead, err
	}
	defer g.unlock()
	if err := g.prepared(w, n); err != nil {
		return dead, err
	}
	err = g.withRoom(w, func() (err error) {
		to, err = g.namedLocked(n, text, token, w)
		return err
	})
	return to, err
}

func (g *Grammar) namedLocked(n, text *node, token int32, w *work) (*node, error) {
	n, err := g.home(n)
	if err != nil {
		return nil, err
	}
	if text, err = g.home(text); err != nil {
		return nil, err
	}
	c := &g.closure
	c.begin(w, n.shadow)
	for _, p := range n.pairs {
		if p.reads == readsToken && p.at == token || p.reads == readsOther && p.at != token {
			if err := g.settleTrail(&p, w); err != nil {
				return nil, err
			}
			if err := c.reach(p.behind()); err != nil {
				return nil, err
			}
		}
	}
	return g.node(append(c.pairs, text.pairs...), c.end.or(text.end()), n.shadow), nil
}
