// SPDX-License-Identifier: MIT

package grammar

import (
	"encoding/json"
	"slices"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

// This file has what a loop remembers of texts that may come only once: the names of members, the
// values of a list. While such a text is read, and wherever a loop remembers one, a state is that
// of one text: it is private. Private states are not kept for other texts. Their masks and their
// completions are those of their shadows, in which the texts are forgotten, and which other texts
// share. What a shadow cannot tell is in doubt there: what comes after a text that may have come
// before.

// Unique is a text that an Item begins with, and no other item of the loop with the same Set.
type Unique struct {
	Before  Body // what comes before the text, as a quotation mark
	Text    lexeme.Expr
	Decoder lexeme.Decoder
	Set     int // texts are compared within it
}

// MaxUnique is how many unique texts a loop remembers. Those that come after them are compared with
// them, but not with one another. A Unique must have more texts than that: so they never run out.
const MaxUnique = 1000

// unique is a Unique as it is followed.
type unique struct {
	Unique
	word   int // the lexeme of its texts
	plenty int // bytes within which there are more texts than there may be
	ample  int // likewise, whatever has been read of them; 0: not known
}

// trail is a unique text as far as it has been read, in bytes, the last one first.
type trail struct {
	id     uint64
	before *trail
	last   byte
	length int
}

// The trails of which no text is known.
var (
	atBegin = &trail{id: 1} // nothing has been read
	dropped = &trail{id: 2} // in a shadow: it has begun before
	blurred = &trail{id: 3} // in a shadow: what it must not be is not known
)

// isBlurred reports whether a pair reads a text of which it is not known what it must not be. That
// it ends is in doubt then; and that it goes on too, where there may be no more texts than came.
func (p *pair) isBlurred() bool { return p.reads == readsUnique && p.trail == blurred }

func (t *trail) isKnown() bool { return t != nil && t != dropped && t != blurred }

// text is what has been read, as characters.
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

// seen is the unique texts of a loop's items so far, the last one first.
type seen struct {
	before *seen
	set    int
	text   string
	count  int
}

// forgotten is that of a shadow.
var forgotten = &seen{}

func (s *seen) number() int {
	if s == nil {
		return 0
	}
	return s.count
}

// of is the texts of a set.
func (s *seen) of(set int) (texts []string) {
	for ; s != nil && s.count > 0; s = s.before {
		if s.set == set {
			texts = append(texts, s.text)
		}
	}
	return texts
}

func (m *memory) isPrivate() bool { return m != nil && m.seen != nil && m.seen != forgotten }

func (p *pair) isPrivate() bool {
	return p.trail.isKnown() && p.trail != atBegin || p.memory.isPrivate() || p.below != nil && p.below.private
}

// noted is what a loop remembers after a unique text, of which w pays the length.
func (g *Grammar) noted(m *memory, u int32, t *trail, w *work) (*memory, error) {
	to := memory{loop: m.loop, bits: m.bits, count: m.count}
	if m.seen.number() >= g.mostUnique {
		return m, nil
	}
	if !t.isKnown() || m.seen == forgotten {
		to.seen = forgotten
		return g.memory(&to), nil
	}
	if err := w.spend(t.length / 16); err != nil {
		return nil, err
	}
	text, err := t.text(g.uniques[u].Decoder)
	if err != nil {
		return nil, err
	}
	to.seen = g.seen(seenKey{m.seen, g.uniques[u].Set, text})
	return g.memory(&to), nil
}

type seenKey struct {
	before *seen
	set    int
	text   string
}

func (g *Grammar) seen(k seenKey) *seen {
	known := g.private.seen[k]
	if known == nil {
		known = &seen{before: k.before, set: k.set, text: k.text, count: k.before.number() + 1}
		g.private.seen[k] = known
		g.private.bytes += 160 + 2*len(k.text)
	}
	return known
}

// sameSeen is that of the present table.
func (g *Grammar) sameSeen(s *seen) *seen {
	if s == nil || s == forgotten {
		return s
	}
	if g.private.seen[seenKey{s.before, s.set, s.text}] == s {
		return s
	}
	return g.seen(seenKey{g.sameSeen(s.before), s.set, s.text})
}

type startKey struct {
	seen *seen
	of   int32
}

// startUnique is where a unique text begins that is none of those seen; lexeme.Dead: there is none.
func (g *Grammar) startUnique(m *memory, of int32, w *work) (start lexeme.State, err error) {
	u := &g.uniques[of]
	texts := m.seen.of(u.Set)
	if len(texts) == 0 {
		return g.words[u.word], nil
	}
	k := startKey{m.seen, of}
	if known, has := g.private.starts[k]; has {
		return known, nil
	}
	err = g.lexemes(w, func() (err error) {
		start, err = g.automata.Without(u.Text, texts, u.Decoder)
		return err
	})
	if err == nil {
		g.private.starts[k] = start
		g.private.bytes += 64
	}
	return start, err
}

// followUnique adds the pair that reads a unique text.
func (c *closure) followUnique(s spot, e edge) error {
	g := c.g
	start, err := g.startUnique(s.memory, e.arg, c.work)
	if err != nil || start == lexeme.Dead {
		return err
	}
	t, ends := atBegin, s.doubt
	switch {
	case s.memory.seen == forgotten:
		t, ends = blurred, true
		s.doubt = s.doubt || g.uniques[e.arg].ample == 0
	case c.shadow:
		t = dropped
	}
	c.pairs = append(c.pairs, pair{readsUnique, int32(start), e.to, s.memory, s.below, t, e.arg, s.doubt})
	if g.automata.Accepts(start) {
		c.visit(spot{e.to, s.memory, s.below, t, e.arg, ends})
	}
	return c.work.spend(1 + s.memory.seen.number()/16)
}

// computePrivate is the node after a byte where pairs read unique texts, or what a state allows
// depends on some.
func (g *Grammar) computePrivate(n *node, b byte, w *work) (*node, error) {
	c := &g.closure
	c.begin(w, false)
	grown := map[*trail]*trail{}
	read := g.sixteen.pairs[0][:0]
	for i := range n.pairs {
		p := n.pairs[i]
		if p.reads > readsUnique {
			continue
		}
		var at lexeme.State
		err := w.spend(1)
		if err == nil {
			err = g.lexemes(w, func() (err error) {
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
		if err := g.settleTrail(&p, w); err != nil {
			return nil, err
		}
		if p.trail.isKnown() {
			if grown[p.trail] == nil {
				grown[p.trail] = &trail{id: g.name(), before: p.trail, last: b, length: p.trail.length + 1}
			}
			p.trail = grown[p.trail]
		}
		read = append(read, p)
	}
	g.sixteen.pairs[0] = read
	c.pairs = append(c.pairs, read...)
	for _, p := range read {
		if g.automata.Accepts(lexeme.State(p.at)) {
			if err := c.reach(p.behind()); err != nil {
				return nil, err
			}
		}
	}
	return g.node(c.pairs, c.end, false), nil
}

// settleTrail has a pair that reads what follows a unique text remember the text.
func (g *Grammar) settleTrail(p *pair, w *work) (err error) {
	if p.trail != nil && p.reads != readsUnique {
		p.memory, err = g.noted(p.memory, p.unique, p.trail, w)
		p.trail, p.unique = nil, 0
	}
	return err
}

// behind is the spot where the lexeme that a pair reads has ended.
func (p *pair) behind() spot {
	s := spot{at: p.to, memory: p.memory, below: p.below, doubt: p.doubt || p.isBlurred()}
	if p.reads == readsUnique {
		s.trail, s.unique = p.trail, p.unique
	}
	return s
}

// shadow is a node that allows what n does, and perhaps texts again that n has seen. What comes
// after it remembers none either, so that masks are made of shadows alone.
func (g *Grammar) shadow(n *node) *node {
	moved := map[*frame]*frame{nil: nil}
	pairs := slices.Clone(n.pairs)
	forget := func(m *memory) *memory {
		if !m.isPrivate() {
			return g.memory(m)
		}
		return g.memory(&memory{loop: m.loop, bits: m.bits, count: m.count, seen: forgotten})
	}
	for i := range pairs {
		p := &pairs[i]
		if p.trail.isKnown() {
			p.trail = dropped
		}
		p.memory, p.below = forget(p.memory), g.moveFrames(p.below, moved, forget)
	}
	return g.node(pairs, n.end(), true)
}

// moveFrames makes a stack anew, with memories by another function. What is moved already is known.
func (g *Grammar) moveFrames(top *frame, moved map[*frame]*frame, of func(*memory) *memory) *frame {
	var above []*frame
	f := top
	for ; moved[f] == nil && f != nil; f = f.below {
		above = append(above, f)
	}
	below := moved[f]
	for _, f := range slices.Backward(above) {
		below = g.frame(frameKey{f.to, of(f.memory), below})
		moved[f] = below
	}
	return below
}

// newUnique prepares a Unique to be followed.
func (b *Builder) newUnique(u *Unique) unique {
	made := unique{Unique: *u, plenty: unknownLength, ample: b.Lexemes.Ample(u.Text, b.mostUnique), word: int(b.bodies[b.Lexeme(u.Text, u.Decoder)].arg)}
	if n, ok := b.Lexemes.Plenty(u.Text, b.mostUnique+1); ok {
		made.plenty = n
	}
	return made
}

// slack is by how many bytes a text may be shorter than it is taken to be, at any time, as a unique
// text is to come: never, where more than one may have to come, or is begun or ended by rules.
func (b *Builder) slack() int {
	slack := 0
	for i := range b.loops {
		l := &b.loops[i]
		for k := range l.Items {
			item := &l.Items[k]
			if item.Unique == nil {
				continue
			}
			if !b.isPlain(l.Separator) || item.Unique.Before != 0 && !b.isPlain(item.Unique.Before) || slices.ContainsFunc(l.Ends, func(c Condition) bool {
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

// isPlain reports whether a body surely has no rules and loops in it.
func (b *Builder) isPlain(is Body) bool {
	n := &b.bodies[is]
	return n.kind == isLexeme || n.kind <= isAlt && n.kind >= isSeq && !slices.ContainsFunc(n.parts, func(p Body) bool { return b.bodies[p].kind != isLexeme })
}

// hasShadow reports whether the mask of a node is that of its shadow, but for a few tokens.
func (g *Grammar) hasShadow(n *node) bool { return len(g.uniques) > 0 && !n.shadow }

// shadowOf is the shadow of a node.
func (g *Grammar) shadowOf(n *node, w *work) (to *node, err error) {
	if err := g.lock(w); err != nil {
		return nil, err
	}
	defer g.unlock()
	if known := n.shadowed.Load(); known != nil && known.generation == g.generation {
		return known, nil
	}
	if err := g.prepared(w, n); err != nil {
		return nil, err
	}
	if err := w.also(len(n.pairs)); err != nil {
		return nil, err
	}
	err = g.withRoom(w, func() error {
		home, err := g.home(n)
		if err == nil {
			to = g.shadow(home)
			home.shadowed.Store(to)
			n.shadowed.Store(to)
		}
		return err
	})
	return to, err
}
