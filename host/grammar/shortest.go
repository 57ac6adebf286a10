// SPDX-License-Identifier: MIT

package grammar

import (
	"errors"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

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

// errUnsure says that what a shadow allows may not be what its state allows, and that this matters.
var errUnsure = errors.New("it depends on the unique texts that came")

// leads is what the shortest texts that complete a node begin with.
type leads struct {
	from   *node // the node, or one that has as much of it as such texts, and those that they lead to, depend on
	bytes  [256]bool
	tokens []int32 // that come for their number
	others []int32 // any token but this one
}

func (g *Grammar) leads(n *node) (l leads, err error) {
	w := unhurried()
	if err := g.lock(w); err != nil {
		return l, err
	}
	defer g.unlock()
	g.long.Store(true)
	err = g.withRoom(w, func() (err error) {
		l, err = g.leadsLocked(n)
		return err
	})
	return l, err
}

func (g *Grammar) leadsLocked(n *node) (l leads, err error) {
	if n, err = g.home(n); err != nil {
		return l, err
	}
	least, err := g.shortest(n, false)
	if err != nil {
		return l, err
	}
	if err := g.sure(n, least); err != nil {
		return l, err
	}
	if l.from, err = g.leaders(n, least); err != nil {
		return l, err
	}
	for i := range l.from.pairs {
		p := &l.from.pairs[i]
		if p.doubt || p.isBlurred() {
			continue
		}
		want := least - g.restOf(p) // bytes of the lexeme
		switch {
		case want <= 0:
		case p.reads <= readsUnique:
			err = g.lexemeLeads(lexeme.State(p.at), want, &l.bytes)
		case want == 1 && p.reads == readsToken:
			l.tokens = append(l.tokens, p.at)
		case want == 1:
			l.others = append(l.others, p.at)
		}
		if err != nil {
			return l, err
		}
	}
	return l, nil
}

// lexemeLeads adds what the texts of so many bytes begin with that end a lexeme.
func (g *Grammar) lexemeLeads(s lexeme.State, bytes int, leads *[256]bool) error {
	if n, err := g.automata.Shortest(s); err != nil || n > bytes || n < bytes && !g.automata.Accepts(s) {
		return err
	}
	for b := 0; b < 256; b += 16 {
		states, err := g.automata.Sixteen(s, byte(b))
		if err != nil {
			return err
		}
		if states == nil {
			continue
		}
		for k, to := range states {
			if to == lexeme.Dead {
				continue
			}
			n, err := g.automata.Shortest(to)
			if err != nil {
				return err
			}
			if n == bytes-1 {
				leads[b+k] = true
			}
		}
	}
	return nil
}

// sure reports errUnsure where what is in doubt may be no longer than the shortest of the rest.
func (g *Grammar) sure(n *node, least int) error {
	if n.mayEnd {
		return errUnsure
	}
	for i := range n.pairs {
		p := &n.pairs[i]
		if !p.doubt && !p.isBlurred() {
			continue
		}
		length, err := g.atLeast(p)
		if err != nil {
			return err
		}
		if length <= least {
			return errUnsure
		}
	}
	return nil
}

// atLeast is no more than the length of the shortest text by which a pair completes, as shortest
// has it.
func (g *Grammar) atLeast(p *pair) (int, error) {
	length := 1
	if p.reads <= readsUnique {
		shortest, err := g.automata.Shortest(lexeme.State(p.at))
		if err != nil {
			return 0, err
		}
		length = max(length, shortest)
	}
	return plus(length, g.restOf(p)), nil
}

// leaders is a node without the pairs that do not complete it by the shortest text, neither now nor
// when that has come as far as one likes: of an object with many names those are few.
func (g *Grammar) leaders(n *node, least int) (*node, error) {
	if g.slack == never || n.private != 0 || len(n.pairs) < 2 {
		return n, nil
	}
	var kept []pair
	for i := range n.pairs {
		p := &n.pairs[i]
		length, err := g.atLeast(p)
		if err != nil {
			return nil, err
		}
		if length <= least+g.slackOf(p) {
			kept = append(kept, *p)
		}
	}
	if len(kept) == len(n.pairs) {
		return n, nil
	}
	return g.node(kept, end{}, n.shadow), nil
}

// slackOf is by how many bytes less than restOf says may complete a text that has come farther: a
// unique text may be shorter than it is taken to be before it begins.
func (g *Grammar) slackOf(p *pair) int {
	switch r := &g.rests[p.to]; {
	case r.after == outsideLoop || r.after == afterItem && (r.done < 0 || p.memory.loop.items[r.done].unique < 0):
		return 0
	}
	return g.slack
}
