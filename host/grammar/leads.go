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
	for i := range n.pairs {
		p := &n.pairs[i]
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
		length := 1
		if p.reads <= readsUnique {
			shortest, err := g.automata.Shortest(lexeme.State(p.at))
			if err != nil {
				return err
			}
			length = max(length, shortest)
		}
		if plus(length, g.restOf(p)) <= least {
			return errUnsure
		}
	}
	return nil
}
