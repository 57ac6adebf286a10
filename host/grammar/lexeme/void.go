// SPDX-License-Identifier: MIT

package lexeme

import (
	"cmp"
	"fmt"
	"slices"
)

// IsVoid reports whether x has no text. It explores at most work states: an error says that it
// took more. What it does counts as work of making the arena.
func (a *Arena) IsVoid(x Expr, work int) (bool, error) {
	is := false
	err := a.Bounded(stepsPerCharacter*max(1, work/64), func() { is = a.isVoid(x, work) })
	return is, err
}

// isVoid is the answer only if the arena has no error afterwards.
func (a *Arena) isVoid(x Expr, work int) bool {
	if is, known := a.knownVoid(x); known {
		return is
	}
	if !a.spend(1) {
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
		return a.search(x, work)
	}
	if a.err == nil {
		a.voids[x] = is
	}
	return is
}

// knownVoid is the answer where it takes no search.
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

// maxSearches is how many searches may be within one another.
const maxSearches = 100

// search follows derivatives of an intersection or a complement until one has a text. What lies on
// the way has one, too; if none is found, none that was seen has one.
func (a *Arena) search(x Expr, work int) bool {
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
		if !a.spend(1 + len(next)) {
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
