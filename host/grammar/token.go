// SPDX-License-Identifier: MIT

package grammar

// Token is the state after a token; false where it may not come. A token may come for its text, for its number, or for both. After an
// end-of-generation token, which may come where the text may end, the state is as before.
//
// # Errors
//
//   - ErrAmbiguous: to follow the token takes more than a bounded number of steps.
func (g *Grammar) Token(s State, v *Vocabulary, token int32) (State, bool, error) {
	if s.node == nil || !v.has(token) {
		return s, false, nil
	}
	if v.isEnd[token] {
		return s, s.node.complete, nil
	}
	w := work{left: maxWork}
	to := dead
	if piece := v.pieces[token]; len(piece) > 0 {
		to = s.node
		for _, b := range piece {
			var err error
			if to, err = g.step(to, b, &w); err != nil {
				return s, false, err
			}
			if to == dead {
				break
			}
		}
	}
	if s.node.takesToken() && v.isNamed[token] {
		var err error
		if to, err = g.named(s.node, to, token, &w); err != nil {
			return s, false, err
		}
	}
	if to == dead {
		return s, false, nil
	}
	return State{to}, true, nil
}

// named is the node after a token that comes for its number, joined with the one after its text.
func (g *Grammar) named(n, text *node, token int32, w *work) (*node, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.bound()
	n, err := g.home(n)
	if err != nil {
		return nil, err
	}
	if text, err = g.home(text); err != nil {
		return nil, err
	}
	c := &g.closure
	c.begin(w)
	for _, p := range n.pairs {
		if p.reads == readsToken && p.at == token || p.reads == readsOther && p.at != token {
			if err := c.reach(spot{p.to, p.memory, p.below}); err != nil {
				return nil, err
			}
		}
	}
	return g.node(append(c.pairs, text.pairs...), c.complete || text.complete), nil
}
