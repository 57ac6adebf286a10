// SPDX-License-Identifier: MIT

package lexeme

import (
	"cmp"
	"slices"
)

// NoState is where an Automaton's symbol leads nowhere.
const NoState = -1

// Automaton is a deterministic one over classes of characters, for what expressions cannot write down: remainders, say. Every state has to
// lead to a final one.
type Automaton struct {
	Symbols []Range // what each symbol is; no two overlap
	Next    []int32 // the state after state s and symbol i, or NoState: Next[s*len(Symbols)+i]
	Final   []bool  // by state: a text may end
}

// Automaton is the texts that lead an automaton from a state to a final one. It counts as an expression for each of its states. The arena
// keeps t, which must not change.
func (a *Arena) Automaton(t *Automaton, state int32) Expr {
	if !a.spend(len(t.Next)) {
		return Nothing
	}
	a.bound -= len(t.Final)
	a.automata = append(a.automata, t)
	return a.inAutomaton(int32(len(a.automata)-1), state)
}

func (a *Arena) inAutomaton(table, state int32) Expr {
	if state == NoState {
		return Nothing
	}
	return a.add(node{kind: automaton, a: table, b: state})
}

func (a *Arena) deriveAutomaton(table, state int32) derivative {
	t := a.automata[table]
	next := []Expr{Nothing}
	cuts := []cut{{0, 0}}
	for i, to := range t.Next[int(state)*len(t.Symbols):][:len(t.Symbols)] {
		if to == NoState {
			continue
		}
		class := int32(len(next))
		next = append(next, a.inAutomaton(table, to))
		cuts = append(cuts, cut{t.Symbols[i].Low, class}, cut{t.Symbols[i].High + 1, 0})
	}
	slices.SortFunc(cuts, func(x, y cut) int { return cmp.Or(cmp.Compare(x.from, y.from), cmp.Compare(x.class, y.class)) })
	kept := cuts[:0]
	for _, c := range cuts { // where one symbol ends and another begins, the latter counts
		if last := len(kept) - 1; last >= 0 && kept[last].from == c.from {
			kept[last] = c
		} else {
			kept = append(kept, c)
		}
	}
	return a.canonical(a.partition(kept), next)
}
