// SPDX-License-Identifier: MIT

package lexeme

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// change is where one of several derivatives comes to another class.
type change struct {
	from rune
	of   int32
	to   Expr
}

// swept is merged for many derivatives: it goes through the alphabet once, and looks only at those
// that lead somewhere.
func (a *Arena) swept(all []derivative, f func(...Expr) Expr) derivative {
	var changes []change
	for i, d := range all {
		for _, c := range d.cuts {
			changes = append(changes, change{c.from, int32(i), d.next[c.class]})
		}
	}
	if !a.spend(len(changes)) {
		return derivative{one, []Expr{Nothing}}
	}
	slices.SortFunc(changes, func(x, y change) int { return cmp.Or(cmp.Compare(x.from, y.from), cmp.Compare(x.of, y.of)) })
	s := sweep{now: make([]Expr, len(all)), place: make([]int32, len(all)), known: map[string]int32{}}
	var cuts []cut
	for i := 0; i < len(changes); {
		from := changes[i].from
		for ; i < len(changes) && changes[i].from == from; i++ {
			s.set(changes[i].of, changes[i].to)
		}
		if !a.spend(1 + len(s.active)) {
			return derivative{one, []Expr{Nothing}}
		}
		class := s.class(len(all))
		if last := len(cuts) - 1; last < 0 || cuts[last].class != class {
			cuts = append(cuts, cut{from, class})
		}
	}
	next := make([]Expr, len(s.classes))
	for i, parts := range s.classes {
		next[i] = f(parts...)
	}
	return a.canonical(a.partition(cuts), next)
}

// sweep is where derivatives lead at one character.
type sweep struct {
	now     []Expr
	place   []int32 // in active
	active  []int32 // those that lead somewhere
	known   map[string]int32
	classes [][]Expr // what the derivatives lead to, with one Nothing if some lead nowhere
	sorted  []Expr
	key     []byte
}

func (s *sweep) set(i int32, to Expr) {
	if s.now[i] == Nothing && to != Nothing {
		s.place[i], s.active = int32(len(s.active)), append(s.active, i)
	} else if s.now[i] != Nothing && to == Nothing {
		last := s.active[len(s.active)-1]
		s.active[s.place[i]], s.place[last] = last, s.place[i]
		s.active = s.active[:len(s.active)-1]
	}
	s.now[i] = to
}

// class is the number of what the derivatives, of which there are so many, lead to now.
func (s *sweep) class(of int) int32 {
	s.sorted = s.sorted[:0]
	for _, i := range s.active {
		s.sorted = append(s.sorted, s.now[i])
	}
	if len(s.active) < of {
		s.sorted = append(s.sorted, Nothing)
	}
	slices.Sort(s.sorted)
	s.sorted = slices.Compact(s.sorted)
	s.key = s.key[:0]
	for _, x := range s.sorted {
		s.key = binary.LittleEndian.AppendUint32(s.key, uint32(x))
	}
	n, ok := s.known[string(s.key)]
	if !ok {
		n = int32(len(s.classes))
		s.known[string(s.key)] = n
		s.classes = append(s.classes, slices.Clone(s.sorted))
	}
	return n
}
