// SPDX-License-Identifier: MIT

package grammar

import (
	"errors"

	"github.com/penstock/penstock/host/grammar/lexeme"
)

// Shortest is the length in bytes of the shortest text that completes s, where a token that is
// named counts as one. After the right byte it is lower by at least one, and so on to the end.
// Where unique texts are to come, it may be too high.
//
// # Errors
//
//   - lexeme.ErrTooMuch: finding out exceeds a bound of work.
func (g *Grammar) Shortest(s State) (int, error) {
	if s.node == nil {
		return never, nil
	}
	if s.node.complete && !s.node.endInDoubt {
		return 0, nil
	}
	w := fullWork()
	if err := g.lock(w); err != nil {
		return never, err
	}
	defer g.unlock()
	g.long.Store(true)
	least := never
	err := g.retryWhenFull(w, func() (err error) {
		least, err = g.shortestLocked(s.node, true)
		return err
	})
	return least, err
}

// shortestLocked leaves out parses in doubt, and takes a blurred text for its longest possible
// length, or with blurred false leaves it out too. Lexemes that may end here come last: other
// parses have what follows them, so at least one more byte of them counts.
func (g *Grammar) shortestLocked(n *node, blurred bool) (int, error) {
	n, err := g.rehome(n)
	if err != nil {
		return never, err
	}
	least := never
	for i := range n.parses {
		p := &n.parses[i]
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
		least = min(least, plus(length, g.shortestAfter(p)))
	}
	for i := range n.parses {
		p := &n.parses[i]
		if p.reads > readsUnique || p.doubt || p.isBlurred() || !g.automata.Accepts(lexeme.State(p.at)) || g.shortestAfter(p)+1 >= least {
			continue
		}
		length, err := g.shortestNonEmpty(lexeme.State(p.at))
		if err != nil {
			return never, err
		}
		least = min(least, plus(length, g.shortestAfter(p)))
	}
	return least, nil
}

// shortestAfter is the length of the shortest text after the lexeme of a parse.
func (g *Grammar) shortestAfter(p *parse) int {
	return plus(g.distances[p.to].total(p.progress), g.shortestBelow(p.below))
}

// shortestNonEmpty is the length of the shortest text of at least one byte that ends a lexeme.
func (g *Grammar) shortestNonEmpty(s lexeme.State) (int, error) {
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

// shortestBelow is the length of the shortest text that leaves all frames of a stack.
func (g *Grammar) shortestBelow(f *frame) int {
	var open []*frame
	for ; f != nil && f.shortest.Load() == 0; f = f.below {
		open = append(open, f)
	}
	n := 0
	if f != nil {
		n = int(f.shortest.Load() - 1)
	}
	for i := len(open) - 1; i >= 0; i-- {
		f := open[i]
		n = plus(n, g.distances[f.to].total(f.progress))
		f.shortest.Store(int32(n + 1))
	}
	return n
}

// errUnsure says that what a shadow allows may not be allowed in its state, and that this matters.
var errUnsure = errors.New("it depends on the unique texts that came")

// firstSymbols is what the shortest texts that complete a node begin with: its FIRST set, as
// parsers call it, for these texts alone.
type firstSymbols struct {
	from   *node // the node, or one of the parses that such texts depend on, now and later
	bytes  [256]bool
	tokens []int32 // which come for their number
	others []int32 // each stands for any token but this one
}

func (g *Grammar) findFirstSymbols(n *node) (l firstSymbols, err error) {
	w := fullWork()
	if err := g.lock(w); err != nil {
		return l, err
	}
	defer g.unlock()
	g.long.Store(true)
	err = g.retryWhenFull(w, func() (err error) {
		l, err = g.findFirstSymbolsLocked(n)
		return err
	})
	return l, err
}

func (g *Grammar) findFirstSymbolsLocked(n *node) (l firstSymbols, err error) {
	if n, err = g.rehome(n); err != nil {
		return l, err
	}
	least, err := g.shortestLocked(n, false)
	if err != nil {
		return l, err
	}
	if err := g.checkCertain(n, least); err != nil {
		return l, err
	}
	if l.from, err = g.keepContenders(n, least); err != nil {
		return l, err
	}
	for i := range l.from.parses {
		p := &l.from.parses[i]
		if p.doubt || p.isBlurred() {
			continue
		}
		want := least - g.shortestAfter(p) // length of the lexeme
		switch {
		case want <= 0:
		case p.reads <= readsUnique:
			err = g.addFirstBytes(lexeme.State(p.at), want, &l.bytes)
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

// addFirstBytes adds the first bytes of the texts of some length that end a lexeme.
func (g *Grammar) addFirstBytes(s lexeme.State, bytes int, leads *[256]bool) error {
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

// checkCertain reports errUnsure where what is in doubt may be as short as the shortest of what is
// certain.
func (g *Grammar) checkCertain(n *node, least int) error {
	if n.endInDoubt {
		return errUnsure
	}
	for i := range n.parses {
		p := &n.parses[i]
		if !p.doubt && !p.isBlurred() {
			continue
		}
		length, err := g.lowerBound(p)
		if err != nil {
			return err
		}
		if length <= least {
			return errUnsure
		}
	}
	return nil
}

// lowerBound is at most the length that shortestLocked finds for a parse.
func (g *Grammar) lowerBound(p *parse) (int, error) {
	length := 1
	if p.reads <= readsUnique {
		shortest, err := g.automata.Shortest(lexeme.State(p.at))
		if err != nil {
			return 0, err
		}
		length = max(length, shortest)
	}
	return plus(length, g.shortestAfter(p)), nil
}

// keepContenders returns a node of the parses that the shortest text may come by, now or further
// on. Of an object with many names those are few.
func (g *Grammar) keepContenders(n *node, least int) (*node, error) {
	if g.slack == never || n.private != 0 || len(n.parses) < 2 {
		return n, nil
	}
	var kept []parse
	for i := range n.parses {
		p := &n.parses[i]
		length, err := g.lowerBound(p)
		if err != nil {
			return nil, err
		}
		if length <= least+g.slackOf(p) {
			kept = append(kept, *p)
		}
	}
	if len(kept) == len(n.parses) {
		return n, nil
	}
	return g.internNode(kept, end{}, n.shadow), nil
}

// slackOf is by how many bytes the rest of a parse may turn out shorter than shortestAfter says:
// before a unique text begins, it is taken to be long.
func (g *Grammar) slackOf(p *parse) int {
	switch r := &g.distances[p.to]; {
	case r.after == outsideLoop || r.after == afterItem && (r.done < 0 || p.progress.loop.items[r.done].unique < 0):
		return 0
	}
	return g.slack
}
