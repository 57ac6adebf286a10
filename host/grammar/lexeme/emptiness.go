// SPDX-License-Identifier: MIT

package lexeme

import (
	"cmp"
	"fmt"
	"slices"
)

// measure derives what is known of a node from its parts.
func (a *Arena) measure(n *node, parts []Expr) {
	switch n.kind {
	case void:
		n.least, n.most = far, 0
	case empty:
		n.nullable, n.sure, n.exact, n.whole = true, true, true, true
	case class:
		n.sure, n.exact, n.whole, n.least, n.most = true, true, true, 1, 1
	case sequence:
		x, y := a.at(Expr(n.a)), a.at(Expr(n.b))
		n.nullable, n.sure, n.whole = x.nullable && y.nullable, x.sure && y.sure, x.whole && y.whole
		n.least, n.most = plus(x.least, y.least), plus(x.most, y.most)
		n.exact, n.front, n.back = x.exact && y.exact, x.front, y.back
	case repetition:
		x := a.at(Expr(n.a))
		n.nullable, n.sure = n.min == 0 || x.nullable, n.min == 0 || x.sure
		n.least, n.most = times(x.least, n.min), times(x.most, n.max)
		n.whole = x.whole && (n.min == n.max || times(x.most-x.least, n.min) >= x.least-1)
		n.exact, n.front = x.exact, Expr(n.a) == Char && n.max == far
		n.back = n.front
	case complement:
		x := a.at(Expr(n.a))
		n.nullable, n.sure, n.most = !x.nullable, !x.nullable || x.most < far, far
		if x.nullable {
			n.least = 1
		}
	case machine:
		n.nullable, n.sure, n.most = a.machines[n.a].Final[n.b], true, far
		if !n.nullable {
			n.least = 1
		}
	case union:
		a.measureUnion(n, parts)
	case intersection:
		a.measureIntersection(n, parts)
	}
}

func (a *Arena) measureUnion(n *node, parts []Expr) {
	n.least, n.exact, n.whole, n.front, n.back = far, true, len(parts) <= 64, true, true
	for _, p := range parts {
		x := a.at(p)
		n.nullable, n.sure, n.exact, n.whole = n.nullable || x.nullable, n.sure || x.sure, n.exact && x.exact, n.whole && x.whole
		n.least, n.most = min(n.least, x.least), max(n.most, x.most)
		n.front, n.back = n.front && x.front, n.back && x.back
	}
	if !n.whole {
		return
	}
	sorted := slices.SortedFunc(slices.Values(parts), func(p, q Expr) int { return int(a.at(p).least - a.at(q).least) })
	most := n.least
	for _, p := range sorted {
		if x := a.at(p); x.least > most+1 {
			n.whole = false
		} else {
			most = max(most, x.most)
		}
	}
}

func (a *Arena) measureIntersection(n *node, parts []Expr) {
	n.nullable, n.most = true, far
	first, last, row := 0, 0, true // row: texts of all parts can be put in a row, first parts only at its beginning, last ones only at its end
	var with []node                // parts that are neither lengths nor a complement
	lengths, without := *a.at(All), node{least: far}
	for _, p := range parts {
		x := a.at(p)
		n.nullable = n.nullable && x.nullable
		n.least, n.most = max(n.least, x.least), min(n.most, x.most)
		row = row && x.sure && (x.front || x.back)
		if !x.front {
			first++
		}
		if !x.back {
			last++
		}
		switch {
		case x.kind == complement:
			without = *a.at(Expr(x.a))
		case a.isLengths(p):
			lengths = *x
		default:
			with = append(with, *x)
		}
	}
	n.front, n.back = first == 0, last == 0
	n.sure = n.nullable || row && first <= 1 && last <= 1
	switch len(with) {
	case 0:
		n.sure = n.sure || hasLength(lengths, *a.at(All), without)
	case 1:
		n.sure = n.sure || hasLength(with[0], lengths, without)
		n.whole = without.least == far && with[0].whole && n.least <= n.most
		n.exact = n.whole
	}
}

// hasLength reports whether x surely has a text of a length that lengths has and without lacks.
func hasLength(x, lengths, without node) bool {
	low, high := max(x.least, lengths.least), min(x.most, lengths.most)
	switch {
	case x.whole:
		return low <= high && (low < without.least || high > without.most)
	case !x.exact:
		return false
	}
	fits := func(length int32) bool {
		return length >= lengths.least && length <= lengths.most && (length < without.least || length > without.most)
	}
	return fits(x.least) || fits(x.most)
}

func plus(x, y int32) int32 { return int32(min(int64(x)+int64(y), far)) }

func times(x, y int32) int32 {
	if x == 0 || y == 0 {
		return 0
	}
	return int32(min(int64(x)*int64(y), far))
}

// IsVoid reports whether x has no text. It explores at most work states; an error says that it
// would take more. Its work counts as making the arena.
func (a *Arena) IsVoid(x Expr, work int) (bool, error) {
	is := false
	err := a.Bounded(stepsPerCharacter*max(1, work/64), func() { is = a.isVoid(x, work) })
	return is, err
}

// isVoid is valid only if the arena has no error afterwards.
func (a *Arena) isVoid(x Expr, work int) bool {
	if is, known := a.knownVoid(x); known {
		return is
	}
	if !a.Spend(1) {
		return false
	}
	is := false
	switch n := *a.at(x); n.kind {
	case sequence:
		is = a.isVoid(Expr(n.a), work) || a.isVoid(Expr(n.b), work)
	case repetition:
		is = a.isVoid(Expr(n.a), work)
	case union:
		is = !slices.ContainsFunc(a.parts(x), func(p Expr) bool { return !a.isVoid(p, work) })
	default:
		return a.isVoidBySearch(x, work)
	}
	if a.err == nil {
		a.voids[x] = is
	}
	return is
}

// knownVoid answers where that takes no search.
func (a *Arena) knownVoid(x Expr) (is, known bool) {
	if n := a.at(x); x == Nothing || n.sure {
		return x == Nothing, true
	}
	is, known = a.voids[x]
	if !known && x < a.base {
		is, known = a.parent.voids[x]
	}
	return is, known
}

// maxSearches bounds how deep searches may be nested.
const maxSearches = 100

// isVoidBySearch looks for a text of an intersection or a complement: it follows derivatives, depth
// first, until one surely has a text, and reports true if none has. What lies on the way to that
// one has a text too; if there is none, nothing that was seen has.
func (a *Arena) isVoidBySearch(x Expr, work int) bool {
	if a.searches++; a.searches > maxSearches {
		a.err = fmt.Errorf("%w: intersections lie too deep in one another", ErrTooMuch)
	}
	defer func() { a.searches-- }()
	from := map[Expr]Expr{x: Nothing}
	ahead := []Expr{x}
	for len(ahead) > 0 {
		y := ahead[len(ahead)-1]
		ahead = ahead[:len(ahead)-1]
		next := slices.Clone(a.derive(y).next)
		if !a.Spend(1 + len(next)) {
			return false
		}
		slices.SortFunc(next, func(p, q Expr) int { return cmp.Compare(a.at(q).least, a.at(p).least) })
		for _, z := range next {
			if _, seen := from[z]; seen {
				continue
			}
			void, known := a.knownVoid(z)
			if k := a.at(z).kind; !known && k != intersection && k != complement {
				void, known = a.isVoid(z, work), true
				if a.err != nil {
					return false
				}
			}
			if known && !void {
				for ; y != Nothing; y = from[y] {
					a.voids[y] = false
				}
				return false
			}
			if known {
				continue
			}
			if from[z], ahead = y, append(ahead, z); len(from) > work {
				a.err = fmt.Errorf("%w: whether it has a text was not found within %d states", ErrTooMuch, work)
				return false
			}
		}
	}
	for y := range from {
		a.voids[y] = true
	}
	return true
}
