// SPDX-License-Identifier: MIT

package grammar

import (
	"errors"
	"slices"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

// maxWork bounds an operation: pairs and places that are looked at, for the first time, and steps
// of the automata. It is some tens of milliseconds.
const maxWork = 200_000

// lexemeSteps is how many steps of an automaton take as long as one that is counted here.
const lexemeSteps = 4

// maxPairs bounds the ways to mean a text that are followed.
const maxPairs = 5000

// step is the node after a byte, or dead. Known steps take no lock.
func (g *Grammar) step(n *node, b byte, w *work) (*node, error) {
	_, to, err := g.stepHome(n, b, w)
	return to, err
}

// stepHome is step, and n's like in the present table, from which further steps are kept.
func (g *Grammar) stepHome(n *node, b byte, w *work) (home, to *node, err error) {
	if to := n.after(b); to != nil {
		if to == ambiguous {
			return n, nil, ErrAmbiguous
		}
		return n, to, nil
	}
	if len(n.pairs) == 0 {
		return n, dead, nil
	}
	if err := g.lock(w); err != nil {
		return nil, nil, err
	}
	defer g.unlock()
	if err := g.prepared(w, n); err != nil {
		return nil, nil, err
	}
	err = g.withRoom(w, func() (err error) {
		home, to, err = g.stepLocked(n, b, w)
		return err
	})
	return home, to, err
}

func (g *Grammar) stepLocked(n *node, b byte, w *work) (home, to *node, err error) {
	if n, err = g.home(n); err != nil {
		return nil, nil, err
	}
	alone := w.left == maxWork
	if n.private != 0 || n.records {
		to, err = g.computePrivate(n, b, w)
	} else {
		to, err = g.compute(n, b, w)
	}
	if err != nil {
		if alone && errors.Is(err, ErrAmbiguous) { // else it may be the steps before that took so long
			g.remember(n, b, ambiguous)
		}
		return nil, nil, err
	}
	g.remember(n, b, to)
	return n, to, nil
}

// after is the node after a byte where it is known.
func (n *node) after(b byte) *node {
	if known := n.next[b>>4].Load(); known != nil {
		return known[b&15].Load()
	}
	return nil
}

func (g *Grammar) remember(n *node, b byte, to *node) {
	if to.private != 0 && n.private == 0 {
		return // else what is private would be kept as long as n
	}
	known := n.next[b>>4].Load()
	if known == nil {
		known = &steps{}
		n.next[b>>4].Store(known)
		g.tableOf(n.private != 0).bytes += 144
	}
	known[b&15].Store(to)
}

// sixteen is scratch for steps of sixteen bytes: the pairs after each, and whether a lexeme ends
// there.
type sixteen struct {
	pairs [16][]pair
	ends  [16]bool
}

// compute computes a step. It keeps those of the other bytes that differ from b in the last four
// bits, where no lexeme ends: most of them lead nowhere, or to where the one before leads.
func (g *Grammar) compute(n *node, b byte, w *work) (*node, error) {
	x := &g.sixteen
	if err := g.read(n, b, w); err != nil {
		return nil, err
	}
	before, last := -1, dead // what is kept
	for k := range x.pairs {
		if k == int(b&15) || x.ends[k] || n.after(b&^15+byte(k)) != nil {
			continue
		}
		if before < 0 || !slices.Equal(x.pairs[k], x.pairs[before]) {
			if err := w.also(len(x.pairs[k])); err != nil {
				return nil, err
			}
			last = g.node(slices.Clone(x.pairs[k]), end{}, n.shadow)
		}
		before = k
		g.remember(n, b&^15+byte(k), last)
	}
	c := &g.closure
	c.begin(w, n.shadow)
	c.pairs = append(c.pairs, x.pairs[b&15]...)
	for _, p := range x.pairs[b&15] {
		if g.automata.Accepts(lexeme.State(p.at)) {
			if err := c.reach(p.behind()); err != nil {
				return nil, err
			}
		}
	}
	to := g.node(c.pairs, c.end, n.shadow)
	for k := range x.pairs {
		if x.ends[k] && slices.Equal(x.pairs[k], x.pairs[b&15]) {
			g.remember(n, b&^15+byte(k), to)
		}
	}
	return to, nil
}

// read has every pair read sixteen bytes.
func (g *Grammar) read(n *node, b byte, w *work) error {
	x := &g.sixteen
	for k := range x.pairs {
		x.pairs[k], x.ends[k] = x.pairs[k][:0], false
	}
	for i := range n.pairs {
		p := n.pairs[i]
		if p.reads > readsUnique {
			continue
		}
		if err := g.settleTrail(&p, w); err != nil {
			return err
		}
		var states *[16]lexeme.State
		err := w.spend(1)
		if err == nil {
			err = g.lexemes(w, func() (err error) {
				states, err = g.automata.Sixteen(lexeme.State(p.at), b)
				return err
			})
		}
		if err != nil {
			return err
		}
		if states == nil {
			continue
		}
		for k, at := range states {
			if at == lexeme.Dead {
				continue
			}
			p.at = int32(at)
			x.pairs[k] = append(x.pairs[k], p)
			x.ends[k] = x.ends[k] || g.automata.Accepts(at)
		}
	}
	return nil
}

// spot is a place with what is below it.
type spot struct {
	at     place
	memory *memory
	below  *frame
	trail  *trail // of a unique text that is not remembered yet; nil: none
	unique int32
	doubt  bool // see pair
}

// closure collects what can be read from places. It is scratch of a grammar, under its lock.
type closure struct {
	g      *Grammar
	seen   map[spot]struct{}
	open   []spot
	pairs  []pair
	most   int // of pairs, before those that are equal are taken out
	end    end
	work   *work
	shadow bool // see Grammar.shadow
}

// end is whether a text may end, and whether that is in doubt.
type end struct{ complete, doubt bool }

// or is that of what is one or the other.
func (e end) or(other end) end {
	sure := e.complete && !e.doubt || other.complete && !other.doubt
	complete := e.complete || other.complete
	return end{complete, complete && !sure}
}

func (c *closure) begin(w *work, shadow bool) {
	if len(c.seen) > 4096 {
		c.seen = nil // to clear it would take as long each time
	}
	if c.seen == nil {
		c.seen = map[spot]struct{}{}
	}
	clear(c.seen)
	c.open, c.pairs, c.most, c.end, c.work = c.open[:0], c.pairs[:0], maxPairs, end{}, w
	c.shadow = shadow
}

func (c *closure) visit(s spot) {
	if _, known := c.seen[s]; !known {
		c.seen[s] = struct{}{}
		c.open = append(c.open, s)
	}
}

// reach adds all that can be read from a spot on.
func (c *closure) reach(from spot) error {
	c.visit(from)
	return c.run()
}

// run adds all that can be read from the open spots on.
func (c *closure) run() error {
	for len(c.open) > 0 {
		s := c.open[len(c.open)-1]
		c.open = c.open[:len(c.open)-1]
		if err := c.work.spend(1); err != nil {
			return err
		}
		if c.work.held > briefSteps && !c.work.brief {
			c.g.long.Store(true)
		}
		if c.g.ends[s.at] {
			if s.below == nil {
				c.end = c.end.or(end{true, s.doubt})
			} else {
				c.visit(spot{at: s.below.to, memory: s.below.memory, below: s.below.below, doubt: s.doubt})
			}
			continue
		}
		for _, e := range c.g.edges[c.g.first[s.at]:c.g.first[s.at+1]] {
			if err := c.follow(s, e); err != nil {
				return err
			}
		}
		if len(c.pairs) > c.most {
			c.pairs = distinct(c.pairs)
			if c.most = len(c.pairs) + maxPairs; len(c.pairs) > maxPairs {
				return ErrAmbiguous
			}
		}
	}
	return nil
}

func (c *closure) follow(s spot, e edge) (err error) {
	g := c.g
	if s.trail != nil && e.kind > toOther {
		if s.memory, err = g.noted(s.memory, s.unique, s.trail, c.work); err != nil {
			return err
		}
		s.trail, s.unique = nil, 0
	}
	to := s
	to.at = e.to
	switch e.kind {
	case toEmpty:
		c.visit(to)
	case toLexeme:
		c.pairs = append(c.pairs, pair{readsBytes, int32(g.words[e.arg]), e.to, s.memory, s.below, s.trail, s.unique, s.doubt})
	case toToken:
		c.pairs = append(c.pairs, pair{readsToken, e.arg, e.to, s.memory, s.below, s.trail, s.unique, s.doubt})
	case toOther:
		c.pairs = append(c.pairs, pair{readsOther, e.arg, e.to, s.memory, s.below, s.trail, s.unique, s.doubt})
	case toUnique:
		return c.followUnique(s, e)
	case toCall:
		c.enter(e.arg, g.frame(frameKey{e.to, s.memory, s.below}), s.doubt)
	case toJump:
		c.enter(e.arg, s.below, s.doubt)
	case toItem:
		if s.memory.may(int(e.arg)) {
			c.visit(to)
		}
	case toDone:
		to.memory = g.memory(s.memory.after(int(e.arg)))
		c.visit(to)
	case toMore:
		if s.memory.more() {
			c.visit(to)
		}
	case toEnd:
		if s.memory.holds() {
			c.visit(to)
		}
	case toMemory:
		to.memory = g.memory(g.memories[e.arg])
		c.visit(to)
	}
	return c.work.spend(1)
}

// enter goes on at the beginning of a procedure.
func (c *closure) enter(procedure int32, below *frame, doubt bool) {
	p := &c.g.procedures[procedure]
	s := spot{at: p.start, below: below, doubt: doubt}
	if p.loop >= 0 {
		s.memory = c.g.memory(c.g.loops[p.loop].empty())
	}
	c.visit(s)
}

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
