// SPDX-License-Identifier: MIT

package lexeme

import "slices"

// Then is texts of each, one after the other.
func (a *Arena) Then(parts ...Expr) Expr {
	x := Empty
	for _, p := range slices.Backward(parts) {
		x = a.then(p, x)
	}
	return x
}

// then is head and what follows. Its form is a list, in which neighbours that repeat the same are
// one.
func (a *Arena) then(head, tail Expr) Expr {
	if head == Nothing || tail == Nothing {
		return Nothing
	}
	if head == Empty {
		return tail
	}
	heads := []Expr{head}
	if a.at(head).kind == sequence {
		heads = heads[:0]
		for a.at(head).kind == sequence {
			heads, head = append(heads, Expr(a.at(head).a)), Expr(a.at(head).b)
		}
		heads = append(heads, head)
	}
	for _, h := range slices.Backward(heads) {
		tail = a.join(h, tail)
	}
	return tail
}

// join is then of a head that is no sequence.
func (a *Arena) join(head, tail Expr) Expr {
	if tail == Empty {
		return head
	}
	next, rest := tail, Empty
	if n := a.at(tail); n.kind == sequence {
		next, rest = Expr(n.a), Expr(n.b)
	}
	if next == All && a.at(head).nullable {
		return tail
	}
	if head == All && a.at(next).nullable {
		return a.then(All, rest)
	}
	x, low, high := a.counted(head)
	if y, low2, high2 := a.counted(next); x == y {
		return a.then(a.repetition(x, plus(low, low2), plus(high, high2)), rest)
	}
	return a.add(node{kind: sequence, a: int32(head), b: int32(tail)})
}

// counted is an expression as a repetition.
func (a *Arena) counted(x Expr) (of Expr, low, high int32) {
	if n := a.at(x); n.kind == repetition {
		return Expr(n.a), n.min, n.max
	}
	return x, 1, 1
}

// Repeat is x at least minimum times and at most maximum times. Counts may be in the millions:
// they are counted, not copied.
func (a *Arena) Repeat(x Expr, minimum, maximum int) Expr {
	if maximum < 0 || maximum > far {
		maximum = far
	}
	return a.repetition(x, int32(max(0, min(minimum, far))), int32(maximum))
}

func (a *Arena) repetition(x Expr, low, high int32) Expr {
	switch {
	case low > high:
		return Nothing
	case high == 0 || x == Empty:
		return Empty
	case x == Nothing:
		if low == 0 {
			return Empty
		}
		return Nothing
	}
	n := a.at(x)
	if n.nullable {
		low = 0
	}
	if n.kind == repetition && (n.min == n.max && low == high || times(n.max-n.min, low) >= n.min-1) {
		return a.repetition(Expr(n.a), times(n.min, low), times(n.max, high))
	}
	if n.kind == union && low == 0 && a.parts(x)[0] == Empty {
		return a.repetition(a.Or(a.parts(x)[1:]...), 0, high)
	}
	if low == 1 && high == 1 {
		return x
	}
	if low == 0 && high == 1 {
		return a.Or(Empty, x)
	}
	return a.add(node{kind: repetition, a: int32(x), min: low, max: high})
}

// Not is all texts but x's.
func (a *Arena) Not(x Expr) Expr {
	switch n := a.at(x); {
	case x == Nothing:
		return All
	case x == All:
		return Nothing
	case n.kind == complement:
		return Expr(n.a)
	case x == Empty:
		return a.repetition(Char, 1, far)
	case a.lengths(x):
		_, low, high := a.counted(x)
		shorter, longer := Nothing, Nothing
		if low > 0 {
			shorter = a.repetition(Char, 0, low-1)
		}
		if high < far {
			longer = a.repetition(Char, high+1, far)
		}
		return a.Or(shorter, longer)
	}
	return a.add(node{kind: complement, a: int32(x)})
}

// lengths reports whether an expression is all texts of some lengths.
func (a *Arena) lengths(x Expr) bool {
	of, _, _ := a.counted(x)
	return of == Char
}
