// SPDX-License-Identifier: MIT

package grammar

import (
	"encoding/json"
	"slices"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

// This file has unique texts: texts that may come only once in a loop, such as the names of an
// object's members. A state that depends on such texts is private: it belongs to one answer and is
// not interned. Masks and completions are computed for its shadow, which forgets the texts and is
// shared. In a shadow, a unique text is
//   - unrecorded, if it began before the shadow was made: the loop forgets it when it ends;
//   - blurred, if the loop has forgotten earlier texts: it is not known which texts it must avoid.
// What follows a blurred text is in doubt: it may be allowed in the shadow, but not in the state.
// So the state itself is asked about it.

// Unique is a text that an Item begins with, and that no other item of the loop with the same Set
// begins with.
type Unique struct {
	Before  Body // what comes before the text, such as a quotation mark
	Text    lexeme.Expr
	Decoder lexeme.Decoder
	Set     int // texts are compared only within a set
}

// MaxUnique is how many unique texts a loop remembers. Later ones are compared with these, but not
// with one another. A Unique must have more texts than that, so that they never run out.
const MaxUnique = 1000

// unique is a compiled Unique.
type unique struct {
	Unique
	word   int // number of its lexeme
	plenty int // a length in bytes within which it has more texts than a loop remembers
	ample  int // the same from any point within a text; 0: not known
}

// trail is a unique text as far as it has been read: a list of bytes, the last one first.
type trail struct {
	id     uint64
	before *trail
	last   byte
	length int
}

// Trails without a text.
var (
	nothingRead = &trail{id: 1} // nothing has been read yet
	unrecorded  = &trail{id: 2} // in a shadow: the text began before it was made
	blurred     = &trail{id: 3} // in a shadow: which texts it must avoid is not known
)

// isBlurred reports whether a parse reads a blurred text. Where there may be no more texts than
// came, even its going on is in doubt; else only its end is.
func (p *parse) isBlurred() bool { return p.reads == readsUnique && p.trail == blurred }

func (t *trail) isKnown() bool { return t != nil && t != unrecorded && t != blurred }

// text returns the characters that have been read.
func (t *trail) text(d lexeme.Decoder) (string, error) {
	spelled := make([]byte, t.length)
	for at := t; at.length > 0; at = at.before {
		spelled[at.length-1] = at.last
	}
	if d != lexeme.JSONString {
		return string(spelled), nil
	}
	text := ""
	err := json.Unmarshal(slices.Concat([]byte{'"'}, spelled, []byte{'"'}), &text)
	return text, err
}

// seen is the unique texts of a loop so far: a list, the last one first.
type seen struct {
	before *seen
	set    int
	text   string
	count  int
}

// forgotten is the seen of a shadow's loop.
var forgotten = &seen{}

func (s *seen) size() int {
	if s == nil {
		return 0
	}
	return s.count
}

// textsIn returns the texts of a set.
func (s *seen) textsIn(set int) (texts []string) {
	for ; s != nil && s.count > 0; s = s.before {
		if s.set == set {
			texts = append(texts, s.text)
		}
	}
	return texts
}

func (m *progress) isPrivate() bool { return m != nil && m.seen != nil && m.seen != forgotten }

func (p *parse) isPrivate() bool {
	return p.trail.isKnown() && p.trail != nothingRead || p.progress.isPrivate() || p.below != nil && p.below.private
}

// withUnique returns a loop's progress after a unique text, whose length w pays for.
func (g *Grammar) withUnique(m *progress, u int32, t *trail, w *work) (*progress, error) {
	to := progress{loop: m.loop, bits: m.bits, count: m.count}
	if m.seen.size() >= g.mostUnique {
		return m, nil
	}
	if !t.isKnown() || m.seen == forgotten {
		to.seen = forgotten
		return g.internProgress(&to), nil
	}
	if err := w.spend(t.length / 16); err != nil {
		return nil, err
	}
	text, err := t.text(g.uniques[u].Decoder)
	if err != nil {
		return nil, err
	}
	to.seen = g.internSeen(seenKey{m.seen, g.uniques[u].Set, text})
	return g.internProgress(&to), nil
}

type seenKey struct {
	before *seen
	set    int
	text   string
}

func (g *Grammar) internSeen(k seenKey) *seen {
	known := g.privateTable.seen[k]
	if known == nil {
		known = &seen{before: k.before, set: k.set, text: k.text, count: k.before.size() + 1}
		g.privateTable.seen[k] = known
		g.privateTable.bytes += 160 + 2*len(k.text)
	}
	return known
}

// rehomeSeen returns the equal of s in the present table.
func (g *Grammar) rehomeSeen(s *seen) *seen {
	if s == nil || s == forgotten {
		return s
	}
	if g.privateTable.seen[seenKey{s.before, s.set, s.text}] == s {
		return s
	}
	return g.internSeen(seenKey{g.rehomeSeen(s.before), s.set, s.text})
}

type startKey struct {
	seen *seen
	of   int32
}

// startOfUnique returns where a unique text begins that is none of those seen; lexeme.Dead: there
// is no such text. The texts are taken out of the expression, so no spelling of them fits, and no
// beginning that only they complete.
func (g *Grammar) startOfUnique(m *progress, of int32, w *work) (start lexeme.State, err error) {
	u := &g.uniques[of]
	texts := m.seen.textsIn(u.Set)
	if len(texts) == 0 {
		return g.lexemeStarts[u.word], nil
	}
	k := startKey{m.seen, of}
	if known, has := g.privateTable.starts[k]; has {
		return known, nil
	}
	err = g.spendOnAutomata(w, func() (err error) {
		start, err = g.automata.Without(u.Text, texts, u.Decoder)
		return err
	})
	if err == nil {
		g.privateTable.starts[k] = start
		g.privateTable.bytes += 64
	}
	return start, err
}

// enterUnique adds a parse that reads a unique text.
func (c *closure) enterUnique(s spot, e edge) error {
	g := c.g
	start, err := g.startOfUnique(s.progress, e.arg, c.work)
	if err != nil || start == lexeme.Dead {
		return err
	}
	t, ends := nothingRead, s.doubt
	switch {
	case s.progress.seen == forgotten:
		t, ends = blurred, true
		s.doubt = s.doubt || g.uniques[e.arg].ample == 0
	case c.shadow:
		t = unrecorded
	}
	c.parses = append(c.parses, parse{readsUnique, int32(start), e.to, s.progress, s.below, t, e.arg, s.doubt})
	if g.automata.Accepts(start) {
		c.visit(spot{e.to, s.progress, s.below, t, e.arg, ends})
	}
	return c.work.spend(1 + s.progress.seen.size()/16)
}

// computePrivateStep is computeStep for a node that is private or becomes so. It shares nothing.
func (g *Grammar) computePrivateStep(n *node, b byte, w *work) (*node, error) {
	c := &g.closure
	c.reset(w, false)
	grown := map[*trail]*trail{}
	read := g.byteSteps.parses[0][:0]
	for i := range n.parses {
		p := n.parses[i]
		if p.reads > readsUnique {
			continue
		}
		var at lexeme.State
		err := w.spend(1)
		if err == nil {
			err = g.spendOnAutomata(w, func() (err error) {
				at, err = g.automata.Next(lexeme.State(p.at), b)
				return err
			})
		}
		if err != nil {
			return nil, err
		}
		if at == lexeme.Dead {
			continue
		}
		p.at = int32(at)
		if err := g.recordText(&p, w); err != nil {
			return nil, err
		}
		if p.trail.isKnown() {
			if grown[p.trail] == nil {
				grown[p.trail] = &trail{id: g.newID(), before: p.trail, last: b, length: p.trail.length + 1}
			}
			p.trail = grown[p.trail]
		}
		read = append(read, p)
	}
	g.byteSteps.parses[0] = read
	c.parses = append(c.parses, read...)
	for _, p := range read {
		if g.automata.Accepts(lexeme.State(p.at)) {
			if err := c.reach(p.afterLexeme()); err != nil {
				return nil, err
			}
		}
	}
	return g.internNode(c.parses, c.end, false), nil
}

// recordText records a unique text in the loop's progress, once a parse reads what follows it.
func (g *Grammar) recordText(p *parse, w *work) (err error) {
	if p.trail != nil && p.reads != readsUnique {
		p.progress, err = g.withUnique(p.progress, p.unique, p.trail, w)
		p.trail, p.unique = nil, 0
	}
	return err
}

// afterLexeme is the spot where the lexeme that a parse reads ends.
func (p *parse) afterLexeme() spot {
	s := spot{at: p.to, progress: p.progress, below: p.below, doubt: p.doubt || p.isBlurred()}
	if p.reads == readsUnique {
		s.trail, s.unique = p.trail, p.unique
	}
	return s
}

// makeShadow returns a node that allows what n allows, and may allow texts again that n has seen.
// Nodes after it record no texts either, so masks are made of shadows alone.
func (g *Grammar) makeShadow(n *node) *node {
	moved := map[*frame]*frame{nil: nil}
	pairs := slices.Clone(n.parses)
	forget := func(m *progress) *progress {
		if !m.isPrivate() {
			return g.internProgress(m)
		}
		return g.internProgress(&progress{loop: m.loop, bits: m.bits, count: m.count, seen: forgotten})
	}
	for i := range pairs {
		p := &pairs[i]
		if p.trail.isKnown() {
			p.trail = unrecorded
		}
		p.progress, p.below = forget(p.progress), g.rebuildFrames(p.below, moved, forget)
	}
	return g.internNode(pairs, n.end(), true)
}

// rebuildFrames makes a stack anew, with the progresses that of returns. moved has the frames that
// are made already.
func (g *Grammar) rebuildFrames(top *frame, moved map[*frame]*frame, of func(*progress) *progress) *frame {
	var above []*frame
	f := top
	for ; moved[f] == nil && f != nil; f = f.below {
		above = append(above, f)
	}
	below := moved[f]
	for _, f := range slices.Backward(above) {
		below = g.internFrame(frameKey{f.to, of(f.progress), below})
		moved[f] = below
	}
	return below
}

// compileUnique prepares a Unique.
func (b *Builder) compileUnique(u *Unique) unique {
	made := unique{Unique: *u, plenty: unknownLength, ample: b.Lexemes.Ample(u.Text, b.mostUnique), word: int(b.bodies[b.Lexeme(u.Text, u.Decoder)].arg)}
	if n, ok := b.Lexemes.Plenty(u.Text, b.mostUnique+1); ok {
		made.plenty = n
	}
	return made
}

// findSlack returns by how many bytes the rest of a text may be shorter than it is taken to be, at
// any time, where unique texts are to come: never where several may have to come, or where rules
// stand before or between them.
func (b *Builder) findSlack() int {
	slack := 0
	for i := range b.loops {
		l := &b.loops[i]
		for k := range l.Items {
			item := &l.Items[k]
			if item.Unique == nil {
				continue
			}
			if !b.hasNoRules(l.Separator) || item.Unique.Before != 0 && !b.hasNoRules(item.Unique.Before) || slices.ContainsFunc(l.Ends, func(c Condition) bool {
				return c.Min > 0 && item.Count > 0 || slices.Contains(c.Must, item.Bit)
			}) {
				return never
			}
		}
	}
	for i := range b.uniques {
		slack = max(slack, b.uniques[i].plenty)
	}
	return slack
}

// hasNoRules reports whether a body surely contains no rules and loops.
func (b *Builder) hasNoRules(is Body) bool {
	n := &b.bodies[is]
	return n.kind == isLexeme || n.kind <= isAlt && n.kind >= isSeq && !slices.ContainsFunc(n.parts, func(p Body) bool { return b.bodies[p].kind != isLexeme })
}

// hasShadow reports whether a node's mask is made of its shadow.
func (g *Grammar) hasShadow(n *node) bool { return len(g.uniques) > 0 && !n.shadow }

// shadowOf returns the shadow of a node.
func (g *Grammar) shadowOf(n *node, w *work) (to *node, err error) {
	if err := g.lock(w); err != nil {
		return nil, err
	}
	defer g.unlock()
	if known := n.shadowed.Load(); known != nil && known.generation == g.generation {
		return known, nil
	}
	if err := g.prepareStep(w, n); err != nil {
		return nil, err
	}
	if err := w.spendIfBrief(len(n.parses)); err != nil {
		return nil, err
	}
	err = g.retryWhenFull(w, func() error {
		home, err := g.rehome(n)
		if err == nil {
			to = g.makeShadow(home)
			home.shadowed.Store(to)
			n.shadowed.Store(to)
		}
		return err
	})
	return to, err
}
