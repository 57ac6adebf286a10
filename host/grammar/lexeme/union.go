// SPDX-License-Identifier: MIT

package lexeme

import (
	"cmp"
	"slices"
)

// Or is the union.
func (a *Arena) Or(parts ...Expr) Expr {
	all := make([]Expr, 0, len(parts))
	for _, p := range parts {
		if a.at(p).kind == union {
			all = append(all, a.parts(p)...)
		} else if p != Nothing {
			all = append(all, p)
		}
	}
	if len(all) < 2 {
		return only(all)
	}
	if !a.spend(len(all)) {
		return Nothing
	}
	all = a.joinClasses(all)
	all = a.joinTails(all)
	all = a.joinCounts(all)
	slices.Sort(all)
	all = slices.Compact(all)
	for _, p := range all {
		if p == All {
			return All
		}
		if n := a.at(p); n.kind == complement {
			if _, found := slices.BinarySearch(all, Expr(n.a)); found {
				return All
			}
		}
	}
	if len(all) > 1 && all[0] == Empty && slices.ContainsFunc(all[1:], func(p Expr) bool { return a.at(p).nullable }) {
		all = all[1:]
	}
	if len(all) < 2 {
		return only(all)
	}
	if slices.ContainsFunc(all, func(p Expr) bool { return a.at(p).kind == union }) {
		return a.Or(all...) // joined tails can be one
	}
	return a.add(node{kind: union}, all...)
}

func only(all []Expr) Expr {
	if len(all) == 0 {
		return Nothing
	}
	return all[0]
}

// joinClasses makes one class of all.
func (a *Arena) joinClasses(all []Expr) []Expr {
	first, more := -1, false
	var ranges []Range
	out := all[:0]
	for _, p := range all {
		switch {
		case a.at(p).kind != class:
			out = append(out, p)
			continue
		case first < 0:
			first = len(out)
			out = append(out, p)
			continue
		case out[first] == p:
			continue
		case !more:
			more, ranges = true, append(ranges, a.rangesOf(out[first])...)
		}
		ranges = append(ranges, a.rangesOf(p)...)
	}
	if more {
		out[first] = a.Class(ranges...)
	}
	return out
}

// joinTails makes x t | y t into (x|y) t, which keeps the heads of counted things together, where
// they can be joined.
func (a *Arena) joinTails(all []Expr) []Expr {
	sequences := 0
	for _, p := range all {
		if a.at(p).kind == sequence {
			sequences++
		}
	}
	if sequences < 2 {
		return all
	}
	tail := func(p Expr) int32 {
		if n := a.at(p); n.kind == sequence {
			return n.b
		}
		return -1
	}
	slices.SortFunc(all, func(p, q Expr) int { return cmp.Or(cmp.Compare(tail(p), tail(q)), cmp.Compare(p, q)) })
	all = slices.Compact(all)
	out := all[:0]
	for i := 0; i < len(all); {
		t, end := tail(all[i]), i+1
		for t >= 0 && end < len(all) && tail(all[end]) == t {
			end++
		}
		if end == i+1 {
			out = append(out, all[i])
		} else {
			heads := make([]Expr, 0, end-i)
			for _, p := range all[i:end] {
				heads = append(heads, Expr(a.at(p).a))
			}
			out = append(out, a.then(a.Or(heads...), Expr(t)))
		}
		i = end
	}
	return out
}

// joinCounts makes one of repetitions of the same whose counts touch. The empty text is such a
// count, too.
func (a *Arena) joinCounts(all []Expr) []Expr {
	if !slices.ContainsFunc(all, func(p Expr) bool { return a.at(p).kind == repetition }) {
		return all
	}
	type run struct {
		of        Expr
		low, high int32
	}
	runs := make([]run, 0, len(all))
	hasEmpty, taken := false, false
	for _, p := range all {
		if p == Empty {
			hasEmpty = true
			continue
		}
		of, low, high := a.counted(p)
		runs = append(runs, run{of, low, high})
	}
	slices.SortFunc(runs, func(x, y run) int {
		return cmp.Or(cmp.Compare(x.of, y.of), cmp.Compare(x.low, y.low), cmp.Compare(x.high, y.high))
	})
	out := all[:0]
	for i := 0; i < len(runs); {
		r := runs[i]
		for i++; i < len(runs) && runs[i].of == r.of && runs[i].low <= plus(r.high, 1); i++ {
			r.high = max(r.high, runs[i].high)
		}
		if hasEmpty && r.low == 1 && r.high > 1 {
			r.low, taken = 0, true
		}
		out = append(out, a.repetition(r.of, r.low, r.high))
	}
	if hasEmpty && !taken {
		out = append(out, Empty)
	}
	return out
}
