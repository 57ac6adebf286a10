// SPDX-License-Identifier: MIT

package lexeme

import (
	"cmp"
	"slices"
)

// NoState is where a Machine's symbol leads nowhere.
const NoState = -1

// Machine is a deterministic automaton over classes of characters, for what expressions cannot
// write down: remainders, say. Every state has to lead to a final one.
type Machine struct {
	Symbols []Range // what each symbol is; no two overlap
	Next    []int32 // the state after state s and symbol i, or NoState: Next[s*len(Symbols)+i]
	Final   []bool  // by state: a text may end
}

// Machine is the texts that lead a machine from a state to a final one. It counts as an expression
// for each of its states. The arena keeps m, which must not change.
func (a *Arena) Machine(m *Machine, state int32) Expr {
	if !a.spend(len(m.Next)) {
		return Nothing
	}
	a.bound -= len(m.Final)
	a.machines = append(a.machines, m)
	return a.inMachine(int32(len(a.machines)-1), state)
}

func (a *Arena) inMachine(number, state int32) Expr {
	if state == NoState {
		return Nothing
	}
	return a.add(node{kind: machine, a: number, b: state})
}

func (a *Arena) deriveMachine(number, state int32) derivative {
	m := a.machines[number]
	next := []Expr{Nothing}
	cuts := []cut{{0, 0}}
	for i, to := range m.Next[int(state)*len(m.Symbols):][:len(m.Symbols)] {
		if to == NoState {
			continue
		}
		class := int32(len(next))
		next = append(next, a.inMachine(number, to))
		cuts = append(cuts, cut{m.Symbols[i].Low, class}, cut{m.Symbols[i].High + 1, 0})
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
