// SPDX-License-Identifier: MIT

package grammar

import (
	"errors"
	"slices"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

// maxWork bounds an operation's steps: parses and places that it visits for the first time, and
// steps of the automata. They take some tens of milliseconds.
const maxWork = 200_000

// lexemeSteps is how many steps of an automaton take as long as one step counted here.
const lexemeSteps = 4

// maxParses bounds the parses of a text that are followed at once.
const maxParses = 5000

// step returns the node after a byte, or dead. Known steps take no lock.
func (g *Grammar) step(n *node, b byte, w *work) (*node, error) {
	_, to, err := g.stepFromHome(n, b, w)
	return to, err
}

// stepFromHome is step. It also returns n as the present tables have it, from which further steps
// get known.
func (g *Grammar) stepFromHome(n *node, b byte, w *work) (home, to *node, err error) {
	if to := n.knownStep(b); to != nil {
		if to == ambiguous {
			return n, nil, ErrAmbiguous
		}
		return n, to, nil
	}
	if len(n.parses) == 0 {
		return n, dead, nil
	}
	if err := g.lock(w); err != nil {
		return nil, nil, err
	}
	defer g.unlock()
	if err := g.prepareStep(w, n); err != nil {
		return nil, nil, err
	}
	err = g.retryWhenFull(w, func() (err error) {
		home, to, err = g.stepLocked(n, b, w)
		return err
	})
	return home, to, err
}

func (g *Grammar) stepLocked(n *node, b byte, w *work) (home, to *node, err error) {
	if n, err = g.rehome(n); err != nil {
		return nil, nil, err
	}
	alone := w.left == maxWork
	if n.private != 0 || n.tracksText {
		to, err = g.computePrivateStep(n, b, w)
	} else {
		to, err = g.computeStep(n, b, w)
	}
	if err != nil {
		if alone && errors.Is(err, ErrAmbiguous) { // else earlier steps of the operation may have taken the time
			g.rememberStep(n, b, ambiguous)
		}
		return nil, nil, err
	}
	g.rememberStep(n, b, to)
	return n, to, nil
}

// knownStep returns the node after a byte, nil where it is not known.
func (n *node) knownStep(b byte) *node {
	if known := n.next[b>>4].Load(); known != nil {
		return known[b&15].Load()
	}
	return nil
}

func (g *Grammar) rememberStep(n *node, b byte, to *node) {
	if to.private != 0 && n.private == 0 {
		return // else n would keep what is private
	}
	known := n.next[b>>4].Load()
	if known == nil {
		known = &steps{}
		n.next[b>>4].Store(known)
		g.tableOf(n.private != 0).bytes += 144
	}
	known[b&15].Store(to)
}

// byteSteps is scratch for the steps of sixteen bytes: by byte, the parses after it, and whether a
// lexeme ends there.
type byteSteps struct {
	parses [16][]parse
	ends   [16]bool
}

// computeStep computes a step. It also records the steps of the other fifteen bytes with the same
// first four bits where no lexeme ends: most of them lead nowhere, or to where the byte before
// leads.
func (g *Grammar) computeStep(n *node, b byte, w *work) (*node, error) {
	x := &g.byteSteps
	if err := g.readSixteen(n, b, w); err != nil {
		return nil, err
	}
	before, last := -1, dead // the byte that was recorded last, and its node
	for k := range x.parses {
		if k == int(b&15) || x.ends[k] || n.knownStep(b&^15+byte(k)) != nil {
			continue
		}
		if before < 0 || !slices.Equal(x.parses[k], x.parses[before]) {
			if err := w.spendIfBrief(len(x.parses[k])); err != nil {
				return nil, err
			}
			last = g.internNode(slices.Clone(x.parses[k]), end{}, n.shadow)
		}
		before = k
		g.rememberStep(n, b&^15+byte(k), last)
	}
	c := &g.closure
	c.reset(w, n.shadow)
	c.parses = append(c.parses, x.parses[b&15]...)
	for _, p := range x.parses[b&15] {
		if g.automata.Accepts(lexeme.State(p.at)) {
			if err := c.reach(p.afterLexeme()); err != nil {
				return nil, err
			}
		}
	}
	to := g.internNode(c.parses, c.end, n.shadow)
	for k := range x.parses {
		if x.ends[k] && slices.Equal(x.parses[k], x.parses[b&15]) {
			g.rememberStep(n, b&^15+byte(k), to)
		}
	}
	return to, nil
}

// readSixteen makes every parse read each of sixteen bytes.
func (g *Grammar) readSixteen(n *node, b byte, w *work) error {
	x := &g.byteSteps
	for k := range x.parses {
		x.parses[k], x.ends[k] = x.parses[k][:0], false
	}
	for i := range n.parses {
		p := n.parses[i]
		if p.reads > readsUnique {
			continue
		}
		if err := g.recordText(&p, w); err != nil {
			return err
		}
		var states *[16]lexeme.State
		err := w.spend(1)
		if err == nil {
			err = g.spendOnAutomata(w, func() (err error) {
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
			x.parses[k] = append(x.parses[k], p)
			x.ends[k] = x.ends[k] || g.automata.Accepts(at)
		}
	}
	return nil
}

// spot is a place, with the stack and the progress there.
type spot struct {
	at       place
	progress *progress
	below    *frame
	trail    *trail // of a unique text that is not recorded yet; nil: none
	unique   int32
	doubt    bool // see parse
}

// closure collects the parses that begin at some spots: the epsilon closure, through all edges that
// read nothing. It is scratch of a grammar, under its lock.
type closure struct {
	g         *Grammar
	seen      map[spot]struct{}
	open      []spot
	parses    []parse
	compactAt int // drop duplicates when there are more parses
	end       end
	work      *work
	shadow    bool // see Grammar.makeShadow
}

// end says whether a text may end, and whether that is in doubt.
type end struct{ complete, doubt bool }

// or combines the ends of two sets of parses.
func (e end) or(other end) end {
	sure := e.complete && !e.doubt || other.complete && !other.doubt
	complete := e.complete || other.complete
	return end{complete, complete && !sure}
}

func (c *closure) reset(w *work, shadow bool) {
	if len(c.seen) > 4096 {
		c.seen = nil // clear takes as long as a map once was large
	}
	if c.seen == nil {
		c.seen = map[spot]struct{}{}
	}
	clear(c.seen)
	c.open, c.parses, c.compactAt, c.end, c.work = c.open[:0], c.parses[:0], maxParses, end{}, w
	c.shadow = shadow
}

func (c *closure) visit(s spot) {
	if _, known := c.seen[s]; !known {
		c.seen[s] = struct{}{}
		c.open = append(c.open, s)
	}
}

// reach adds the parses that begin at a spot.
func (c *closure) reach(from spot) error {
	c.visit(from)
	return c.run()
}

// run adds the parses that begin at the open spots.
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
				c.visit(spot{at: s.below.to, progress: s.below.progress, below: s.below.below, doubt: s.doubt})
			}
			continue
		}
		for _, e := range c.g.edges[c.g.first[s.at]:c.g.first[s.at+1]] {
			if err := c.followEdge(s, e); err != nil {
				return err
			}
		}
		if len(c.parses) > c.compactAt {
			c.parses = compactParses(c.parses)
			if c.compactAt = len(c.parses) + maxParses; len(c.parses) > maxParses {
				return ErrAmbiguous
			}
		}
	}
	return nil
}

// followEdge adds what an edge leads to: a parse where it reads, else a spot.
func (c *closure) followEdge(s spot, e edge) (err error) {
	g := c.g
	if s.trail != nil && e.kind > toOther {
		if s.progress, err = g.withUnique(s.progress, s.unique, s.trail, c.work); err != nil {
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
		c.parses = append(c.parses, parse{readsBytes, int32(g.lexemeStarts[e.arg]), e.to, s.progress, s.below, s.trail, s.unique, s.doubt})
	case toToken:
		c.parses = append(c.parses, parse{readsToken, e.arg, e.to, s.progress, s.below, s.trail, s.unique, s.doubt})
	case toOther:
		c.parses = append(c.parses, parse{readsOther, e.arg, e.to, s.progress, s.below, s.trail, s.unique, s.doubt})
	case toUnique:
		return c.enterUnique(s, e)
	case toCall:
		c.enterProcedure(e.arg, g.internFrame(frameKey{e.to, s.progress, s.below}), s.doubt)
	case toJump:
		c.enterProcedure(e.arg, s.below, s.doubt)
	case toItem:
		if s.progress.mayTake(int(e.arg)) {
			c.visit(to)
		}
	case toDone:
		to.progress = g.internProgress(s.progress.withItem(int(e.arg)))
		c.visit(to)
	case toMore:
		if s.progress.mayContinue() {
			c.visit(to)
		}
	case toEnd:
		if s.progress.mayEnd() {
			c.visit(to)
		}
	case toProgress:
		to.progress = g.internProgress(g.progresses[e.arg])
		c.visit(to)
	}
	return c.work.spend(1)
}

// enterProcedure goes on at the start of a procedure, with a stack below it.
func (c *closure) enterProcedure(procedure int32, below *frame, doubt bool) {
	p := &c.g.procedures[procedure]
	s := spot{at: p.start, below: below, doubt: doubt}
	if p.loop >= 0 {
		s.progress = c.g.internProgress(c.g.loops[p.loop].newProgress())
	}
	c.visit(s)
}

// Token returns the state after a token; false where it may not come. A token may come for its
// text, for its number, or for both. After an end-of-generation token, which may come where the
// text may end, the state is unchanged.
//
// # Errors
//
//   - ErrAmbiguous: following the token exceeds a bound of steps.
func (g *Grammar) Token(s State, v *Vocabulary, token int32) (State, bool, error) {
	return g.tokenWithin(s, v, token, fullWork())
}

func (g *Grammar) tokenWithin(s State, v *Vocabulary, token int32, w *work) (State, bool, error) {
	if s.node == nil || !v.has(token) {
		return s, false, nil
	}
	if v.isEnd[token] {
		return s, s.node.complete, nil
	}
	to, err := g.stepToken(s.node, v, token, w)
	if err != nil || to == dead {
		return s, false, err
	}
	return State{to}, true, nil
}

// Few is for states whose whole mask takes too long: of some tokens, the likeliest first, it sets
// the bits of those that may come. All of them together take no more steps than one Mask may. It
// returns how many tokens it has tried; a token that takes too many steps itself is not set.
func (g *Grammar) Few(s State, v *Vocabulary, tokens []int32, mask []uint32) (int, error) {
	if len(mask) != v.Words() {
		return 0, errMask
	}
	w := fullWork()
	for i, token := range tokens {
		if s.node == nil || !v.has(token) {
			continue
		}
		fits := v.isEnd[token] && s.node.complete
		if !v.isEnd[token] {
			to, err := g.stepToken(s.node, v, token, w)
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

// stepToken returns the node after a token that does not end generation, or dead.
func (g *Grammar) stepToken(n *node, v *Vocabulary, token int32, w *work) (*node, error) {
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
		return g.joinNamed(n, to, token, w)
	}
	return to, nil
}

// joinNamed returns the node after a token that comes for its number, joined with text, the node
// after its text.
func (g *Grammar) joinNamed(n, text *node, token int32, w *work) (to *node, err error) {
	if err := g.lock(w); err != nil {
		return dead, err
	}
	defer g.unlock()
	if err := g.prepareStep(w, n); err != nil {
		return dead, err
	}
	err = g.retryWhenFull(w, func() (err error) {
		to, err = g.joinNamedLocked(n, text, token, w)
		return err
	})
	return to, err
}

func (g *Grammar) joinNamedLocked(n, text *node, token int32, w *work) (*node, error) {
	n, err := g.rehome(n)
	if err != nil {
		return nil, err
	}
	if text, err = g.rehome(text); err != nil {
		return nil, err
	}
	c := &g.closure
	c.reset(w, n.shadow)
	for _, p := range n.parses {
		if p.reads == readsToken && p.at == token || p.reads == readsOther && p.at != token {
			if err := g.recordText(&p, w); err != nil {
				return nil, err
			}
			if err := c.reach(p.afterLexeme()); err != nil {
				return nil, err
			}
		}
	}
	return g.internNode(append(c.parses, text.parses...), c.end.or(text.end()), n.shadow), nil
}
