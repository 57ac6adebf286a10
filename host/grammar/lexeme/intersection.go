// SPDX-License-Identifier: MIT

package lexeme

import "slices"

// And is the intersection.
func (a *Arena) And(parts ...Expr) Expr {
	all := make([]Expr, 0, len(parts))
	var without []Expr // of complements, which are one
	counts := All      // of what repeats a class, which is one, too
	var add func(p Expr)
	add = func(p Expr) {
		switch n := a.at(p); {
		case n.kind == intersection:
			for _, q := range a.parts(p) {
				add(q)
			}
		case n.kind == complement:
			without = append(without, Expr(n.a))
		case a.countsClass(p):
			counts = a.bothCounts(counts, p)
		default:
			all = append(all, p)
		}
	}
	for _, p := range parts {
		add(p)
	}
	if !a.spend(1 + len(all) + len(without)) {
		return Nothing
	}
	if n := a.Not(a.Or(without...)); a.at(n).kind == complement {
		all = append(all, n)
	} else {
		add(n)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	least, most, nullable := int32(0), int32(far), true
	for _, p := range all {
		n := a.at(p)
		least, most, nullable = max(least, n.least), min(most, n.most), nullable && n.nullable
		if n.kind == complement {
			if _, same := slices.BinarySearch(all, Expr(n.a)); same {
				return Nothing
			}
		}
	}
	c := a.at(counts)
	switch {
	case counts == Nothing || least > most || least > c.most || most < c.least:
		return Nothing
	case most == 0 || c.most == 0:
		if nullable && c.nullable {
			return Empty
		}
		return Nothing
	case len(all) == 0:
		return counts
	case !a.lengths(counts) || least < c.least || most > c.most:
		all = append(all, counts)
		slices.Sort(all)
	}
	if len(all) == 1 {
		return all[0]
	}
	return a.add(node{kind: intersection}, all...)
}

// countsClass reports whether an expression is a number of characters of one class.
func (a *Arena) countsClass(x Expr) bool {
	of, _, _ := a.counted(x)
	return a.at(of).kind == class || x == Empty
}

// bothCounts is the intersection of two of these.
func (a *Arena) bothCounts(x, y Expr) Expr {
	if x == Empty || y == Empty {
		if a.at(x).nullable && a.at(y).nullable {
			return Empty
		}
		return Nothing
	}
	if x == Nothing {
		return Nothing
	}
	of, low, high := a.counted(x)
	of2, low2, high2 := a.counted(y)
	both := of
	switch {
	case of == Char:
		both = of2
	case of2 != Char && of2 != of:
		both = a.Class(Intersect(a.rangesOf(of), a.rangesOf(of2))...)
	}
	return a.repetition(both, max(low, low2), min(high, high2))
}
