// SPDX-License-Identifier: MIT

package grammar

import "github.com/penstock/penstock/host/grammar/lexeme"

// alphabets is how many classes of plain characters there are: each has those of the ones before
// it, but for digits and letters.
const alphabets = lexeme.PlainAny + 1

// room is for each class of plain characters how many of them fit surely, whichever they are; any
// reports whether some do.
func (g *Grammar) room(n *node) (most [alphabets]int, any bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	home, err := g.settle(n)
	if err != nil {
		return most, false, err
	}
	for i := range home.pairs {
		if p := &home.pairs[i]; p.reads <= readsUnique {
			for of := range alphabets {
				most[of] = max(most[of], g.automata.Room(lexeme.State(p.at), of))
				any = any || most[of] > 0
			}
		}
	}
	return most, any, nil
}
