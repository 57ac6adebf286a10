// SPDX-License-Identifier: MIT

package grammar

import (
	"cmp"
	"sync/atomic"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

// State is how far a text has come. States of one grammar that allow the same are equal, unless
// much was followed between them; they cost nothing to copy. The zero State is where nothing fits.
type State struct{ node *node }

// What a pair reads.
const (
	readsBytes  uint8 = iota // of a lexeme, of whose automaton at is the state
	readsUnique              // likewise, of a unique text
	readsToken               // the token at
	readsOther               // any token but at
)

// pair is one way to mean the text so far: within a lexeme, and what comes after it.
type pair struct {
	reads  uint8
	at     int32
	to     place // behind the lexeme
	memory *memory
	below  *frame
	trail  *trail // the unique text that it reads, or that has come before it and is not remembered yet; nil: neither
	unique int32  // which one
	doubt  bool   // in a shadow: a text of which it is not known what it must not be has ended on the way
}

// comparePairs has a pair that is in doubt come behind the same that is not.
func comparePairs(a, b pair) int {
	return cmp.Or(cmp.Compare(a.reads, b.reads), cmp.Compare(a.at, b.at), cmp.Compare(a.to, b.to),
		cmp.Compare(a.memory.name(), b.memory.name()), cmp.Compare(a.below.name(), b.below.name()),
		cmp.Compare(a.unique, b.unique), cmp.Compare(a.trail.name(), b.trail.name()),
		compareBools(a.doubt, b.doubt))
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func (t *trail) name() uint64 {
	if t == nil {
		return 0
	}
	return t.id
}

func (m *memory) name() uint64 {
	if m == nil {
		return 0
	}
	return m.id
}

func (f *frame) name() uint64 {
	if f == nil {
		return 0
	}
	return f.id
}

// node is what a State is: a set of pairs, sorted. It does not change, but for what is known about
// it.
type node struct {
	generation uint32 // of the table that it is in
	private    uint32 // that of the private table, where the node is private; 0: it is shared
	shadow     bool   // see Grammar.shadow
	records    bool   // a pair reads a unique text that is known, or has one to remember
	blurs      bool   // a pair is in doubt, or reads a text of which it is not known what it must not be
	doubtful   bool   // all pairs are in doubt, and the end
	mayEnd     bool   // the text may end, which is in doubt
	automata   *lexeme.Automata
	pairs      []pair
	complete   bool // the text may end
	next       [16]atomic.Pointer[steps]
	known      atomic.Pointer[maskOf]
	sole       atomic.Pointer[sole] // nil: not looked for
	shadowed   atomic.Pointer[node] // its shadow; nil: not made
	lead       atomic.Pointer[lead]
	rest       atomic.Pointer[completion]
	reach      atomic.Pointer[reach]
}

// steps are the nodes after 16 bytes that follow one another.
type steps [16]atomic.Pointer[node]

var (
	dead      = &node{}
	ambiguous = &node{} // after a step that takes too long
)

func (n *node) forget() {
	for i := range n.next {
		n.next[i].Store(nil)
	}
	n.known.Store(nil)
	n.sole.Store(nil)
	n.shadowed.Store(nil)
	n.lead.Store(nil)
}

// Start is the state before the first byte.
func (g *Grammar) Start() State { return State{g.start} }

// Complete reports whether the text may end.
func (g *Grammar) Complete(s State) bool { return s.node != nil && s.node.complete }

// Advance is the state after text; false where it does not fit.
//
// # Errors
//
//   - ErrAmbiguous: to follow the text takes more than a bounded number of steps.
func (g *Grammar) Advance(s State, text []byte) (State, bool, error) {
	return g.advance(s, text, unhurried())
}

func (g *Grammar) advance(s State, text []byte, w *work) (State, bool, error) {
	n := s.node
	if n == nil {
		return s, false, nil
	}
	for _, b := range text {
		var err error
		if n, err = g.step(n, b, w); err != nil || n == dead {
			return s, false, err
		}
	}
	return State{n}, true, nil
}

// takesToken reports whether a token may come for its number.
func (n *node) takesToken() bool {
	return len(n.pairs) > 0 && n.pairs[len(n.pairs)-1].reads > readsUnique
}

// Shortest is the length in bytes of the shortest text that completes s, where a token that is
// named counts as one. The bytes of such a text can come one after the other so that Shortest tells
// one less after each, or less than that: where unique texts are to come, it may be too much.
//
// # Errors
//
//   - lexeme.ErrTooMuch: to find it out takes more than a bounded amount of work.
func (g *Grammar) Shortest(s State) (int, error) {
	if s.node == nil {
		return never, nil
	}
	if s.node.complete && !s.node.mayEnd {
		return 0, nil
	}
	w := unhurried()
	if err := g.lock(w); err != nil {
		return never, err
	}
	defer g.unlock()
	g.long.Store(true)
	least := never
	err := g.withRoom(w, func() (err error) {
		least, err = g.shortest(s.node, true)
		return err
	})
	return least, err
}

// shortest looks at lexemes that may end here last. Where they do, other pairs have what comes
// then, unless no byte of them has been read: then one must be. It leaves out what is in doubt. A
// text of which it is not known what it must not be counts, if at all, as long as it may have to
// be.
func (g *Grammar) shortest(n *node, blurred bool) (int, error) {
	n, err := g.home(n)
	if err != nil {
		return never, err
	}
	least := never
	for i := range n.pairs {
		p := &n.pairs[i]
		length := 1
		switch {
		case p.doubt || p.isBlurred() && !blurred:
			continue
		case p.isBlurred():
			length = g.uniques[p.unique].ample
		case p.reads > readsUnique:
		case g.automata.Accepts(lexeme.State(p.at)):
			continue
		default:
			if length, err = g.automata.Shortest(lexeme.State(p.at)); err != nil {
				return never, err
			}
		}
		least = min(least, plus(length, g.restOf(p)))
	}
	for i := range n.pairs {
		p := &n.pairs[i]
		if p.reads > readsUnique || p.doubt || p.isBlurred() || !g.automata.Accepts(lexeme.State(p.at)) || g.restOf(p)+1 >= least {
			continue
		}
		length, err := g.shortestOn(lexeme.State(p.at))
		if err != nil {
			return never, err
		}
		least = min(least, plus(length, g.restOf(p)))
	}
	return least, nil
}

// restOf is the shortest text behind the lexeme of a pair.
func (g *Grammar) restOf(p *pair) int {
	return plus(g.rests[p.to].length(p.memory), g.restBelow(p.below))
}

// shortestOn is the length of the shortest text of at least one byte with which a lexeme ends.
func (g *Grammar) shortestOn(s lexeme.State) (int, error) {
	least := never
	for b := 0; b < 256; b += 16 {
		states, err := g.automata.Sixteen(s, byte(b))
		if err != nil {
			return never, err
		}
		if states == nil {
			continue
		}
		for k, to := range states {
			if to == lexeme.Dead || k > 0 && to == states[k-1] {
				continue
			}
			length, err := g.automata.Shortest(to)
			if err != nil {
				return never, err
			}
			least = min(least, plus(length, 1))
		}
	}
	return least, nil
}

// restBelow is the shortest text that ends all that is on a stack.
func (g *Grammar) restBelow(f *frame) int {
	var open []*frame
	for ; f != nil && f.rest.Load() == 0; f = f.below {
		open = append(open, f)
	}
	n := 0
	if f != nil {
		n = int(f.rest.Load() - 1)
	}
	for i := len(open) - 1; i >= 0; i-- {
		f := open[i]
		n = plus(n, g.rests[f.to].length(f.memory))
		f.rest.Store(int32(n + 1))
	}
	return n
}
