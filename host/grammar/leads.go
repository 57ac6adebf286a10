// SPDX-License-Identifier: MIT

package grammar

import (
	"errors"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

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
