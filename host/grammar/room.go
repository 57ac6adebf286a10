// SPDX-License-Identifier: MIT

package grammar

import "github.com/penstock/penstock/host/grammar/lexeme"

// alphabets is how many classes of plain characters there are: each has those of the ones before
// it, but for digits and letters.
const alphabets = lexeme.PlainAny + 1

// room is for each class of plain characters how many of them fit surely, whichever they are; any
// reports whether some do.
func (g *Grammar) room(n *node, w *work) (most [alphabets]int, any bool, err error) {
	if err := g.lock(w); err != nil {
		return most, false, err
	}
	defer g.unlock()
	home, err := g.settle(w, n)
	if err != nil {
		return most, false, err
	}
	for i := range home.pairs {
		p := &home.pairs[i]
		if p.reads > readsUnique {
			continue
		}
		if err := w.also(1); err != nil {
			return most, false, err
		}
		for of := range alphabets {
			room, err := g.roomOf(lexeme.State(p.at), of, w)
			if err != nil {
				return most, false, err
			}
			most[of] = max(most[of], room)
			any = any || most[of] > 0
		}
	}
	return most, any, nil
}

// roomOf is the room of a lexeme's state. Where few steps do not suffice to find it and there are
// more, it takes as many as there are.
func (g *Grammar) roomOf(s lexeme.State, of lexeme.Plain, w *work) (int, error) {
	few := briefSteps
	if w.brief {
		few = w.left
	}
	before := g.automata.Spent()
	g.automata.Within(few * lexemeSteps)
	room := g.automata.Room(s, of)
	spent := g.automata.Spent() - before
	if spent >= few*lexemeSteps && !w.brief {
		g.long.Store(true)
		g.automata.Within(maxWork * lexemeSteps)
		room = g.automata.Room(s, of)
	}
	return room, w.also(spent / lexemeSteps)
}
