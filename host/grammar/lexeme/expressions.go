// SPDX-License-Identifier: MIT

package lexeme

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

const (
	maxRune                       = 0x10FFFF
	firstSurrogate, lastSurrogate = 0xD800, 0xDFFF
)

// Range is the characters from Low to High, both included.
type Range struct{ Low, High rune }

// Normal sorts ranges and joins those that touch. It drops surrogates and what is beyond Unicode.
// Ranges that are normal are returned as they are.
func Normal(ranges []Range) []Range {
	if isNormal(ranges) {
		return ranges
	}
	all := make([]Range, 0, len(ranges)+1)
	for _, r := range ranges {
		r.Low, r.High = max(r.Low, 0), min(r.High, maxRune)
		if r.Low < firstSurrogate && r.High > lastSurrogate {
			all = append(all, Range{r.Low, firstSurrogate - 1}, Range{lastSurrogate + 1, r.High})
			continue
		}
		if r.Low >= firstSurrogate && r.Low <= lastSurrogate {
			r.Low = lastSurrogate + 1
		}
		if r.High >= firstSurrogate && r.High <= lastSurrogate {
			r.High = firstSurrogate - 1
		}
		if r.Low <= r.High {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(x, y Range) int { return cmp.Compare(x.Low, y.Low) })
	out := all[:0]
	for _, r := range all {
		if last := len(out) - 1; last >= 0 && r.Low <= out[last].High+1 {
			out[last].High = max(out[last].High, r.High)
		} else {
			out = append(out, r)
		}
	}
	return out
}

func isNormal(ranges []Range) bool {
	next := rune(0)
	for _, r := range ranges {
		if r.Low < next || r.High < r.Low || r.High > maxRune || r.High >= firstSurrogate && r.Low <= lastSurrogate {
			return false
		}
		next = r.High + 2
	}
	return true
}

// Complement returns the characters that are in none of the ranges.
func Complement(ranges []Range) []Range {
	var out []Range
	next := rune(0)
	for _, r := range Normal(ranges) {
		if next < r.Low {
			out = append(out, Range{next, r.Low - 1})
		}
		next = r.High + 1
	}
	return Normal(append(out, Range{next, maxRune}))
}

// Intersect returns the characters that are in ranges of both.
func Intersect(x, y []Range) []Range {
	x, y = Normal(x), Normal(y)
	var out []Range
	for len(x) > 0 && len(y) > 0 {
		if low, high := max(x[0].Low, y[0].Low), min(x[0].High, y[0].High); low <= high {
			out = append(out, Range{low, high})
		}
		if x[0].High < y[0].High {
			x = x[1:]
		} else {
			y = y[1:]
		}
	}
	return out
}

// Class is any one character of some ranges.
func (a *Arena) Class(ranges ...Range) Expr {
	all := Normal(ranges)
	if len(all) == 0 {
		return Nothing
	}
	return a.intern(node{kind: class}, nil, all)
}

// Text is one text, in UTF-8. Invalid bytes count as U+FFFD.
func (a *Arena) Text(s string) Expr {
	if 2*len(s)/utf8.UTFMax > a.left { // fewer than its characters take
		a.Spend(len(s))
		return Nothing
	}
	all := []rune(s) // no surrogates are among them
	x := Empty
	for _, r := range slices.Backward(all) {
		if a.err != nil {
			return Nothing
		}
		x = a.then(a.intern(node{kind: class}, nil, []Range{{r, r}}), x)
	}
	return x
}

// Then is a text of each part, one after the other.
func (a *Arena) Then(parts ...Expr) Expr {
	x := Empty
	for _, p := range slices.Backward(parts) {
		x = a.then(p, x)
	}
	return x
}

// then is Then of two. A sequence is a list, from head to tail, in which neighbours that repeat the
// same are one repetition.
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
		tail = a.prepend(h, tail)
	}
	return tail
}

// prepend is then for a head that is not a sequence.
func (a *Arena) prepend(head, tail Expr) Expr {
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
	x, low, high := a.asRepetition(head)
	if y, low2, high2 := a.asRepetition(next); x == y {
		return a.then(a.repetition(x, plus(low, low2), plus(high, high2)), rest)
	}
	return a.add(node{kind: sequence, a: int32(head), b: int32(tail)})
}

// asRepetition returns x as a repetition of something.
func (a *Arena) asRepetition(x Expr) (of Expr, low, high int32) {
	if n := a.at(x); n.kind == repetition {
		return Expr(n.a), n.min, n.max
	}
	return x, 1, 1
}

// Repeat is x at least minimum and at most maximum times. Counts may be in the millions, since they
// are counted and not unrolled.
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

// Not is all texts except x's.
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
	case a.isLengths(x):
		_, low, high := a.asRepetition(x)
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

// isLengths reports whether x is all texts of some lengths.
func (a *Arena) isLengths(x Expr) bool {
	of, _, _ := a.asRepetition(x)
	return of == Char
}

// Or is the union of its parts.
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
		return firstOrNothing(all)
	}
	if !a.Spend(len(all)) {
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
		return firstOrNothing(all)
	}
	if slices.ContainsFunc(all, func(p Expr) bool { return a.at(p).kind == union }) {
		return a.Or(all...) // joined tails can be unions
	}
	return a.add(node{kind: union}, all...)
}

func firstOrNothing(all []Expr) Expr {
	if len(all) == 0 {
		return Nothing
	}
	return all[0]
}

// joinClasses joins all classes into one.
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

// joinTails turns x t | y t into (x|y) t. So the heads of counted parts stand together, where
// joinCounts can join them.
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

// joinCounts joins repetitions of the same whose counts touch. The empty text counts as a
// repetition too.
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
		of, low, high := a.asRepetition(p)
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

// And is the intersection of its parts.
func (a *Arena) And(parts ...Expr) Expr {
	all := make([]Expr, 0, len(parts))
	var without []Expr // what the parts exclude, which becomes one complement
	counts := All      // the intersection of all repeated classes
	var add func(p Expr)
	add = func(p Expr) {
		switch n := a.at(p); {
		case n.kind == intersection:
			for _, q := range a.parts(p) {
				add(q)
			}
		case n.kind == complement:
			without = append(without, Expr(n.a))
		case a.isCountedClass(p):
			counts = a.intersectCounts(counts, p)
		default:
			all = append(all, p)
		}
	}
	for _, p := range parts {
		add(p)
	}
	if !a.Spend(1 + len(all) + len(without)) {
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
	case !a.isLengths(counts) || least < c.least || most > c.most:
		all = append(all, counts)
		slices.Sort(all)
	}
	if len(all) == 1 {
		return all[0]
	}
	return a.add(node{kind: intersection}, all...)
}

// isCountedClass reports whether x is some number of characters of one class.
func (a *Arena) isCountedClass(x Expr) bool {
	of, _, _ := a.asRepetition(x)
	return a.at(of).kind == class || x == Empty
}

// intersectCounts is the intersection of two of these.
func (a *Arena) intersectCounts(x, y Expr) Expr {
	if x == Empty || y == Empty {
		if a.at(x).nullable && a.at(y).nullable {
			return Empty
		}
		return Nothing
	}
	if x == Nothing {
		return Nothing
	}
	of, low, high := a.asRepetition(x)
	of2, low2, high2 := a.asRepetition(y)
	both := of
	switch {
	case of == Char:
		both = of2
	case of2 != Char && of2 != of:
		both = a.Class(Intersect(a.rangesOf(of), a.rangesOf(of2))...)
	}
	return a.repetition(both, max(low, low2), min(high, high2))
}

// NoState is a Machine's next state where a symbol leads nowhere.
const NoState = -1

// Machine is a deterministic finite automaton over classes of characters, for what expressions
// cannot say, such as remainders. A final state has to be reachable from every state.
type Machine struct {
	Symbols []Range // the characters of each symbol; no two overlap
	Next    []int32 // Next[s*len(Symbols)+i] is the state after state s and symbol i, or NoState
	Final   []bool  // by state: a text may end there
}

// Machine is the texts that lead a machine from a state to a final one. It counts as an expression
// for each of its states. The arena keeps m, which must not change.
func (a *Arena) Machine(m *Machine, state int32) Expr {
	if !a.Spend(len(m.Next)) {
		return Nothing
	}
	a.bound -= len(m.Final)
	a.machines = append(a.machines, m)
	return a.machineState(int32(len(a.machines)-1), state)
}

func (a *Arena) machineState(number, state int32) Expr {
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
		next = append(next, a.machineState(number, to))
		cuts = append(cuts, cut{m.Symbols[i].Low, class}, cut{m.Symbols[i].High + 1, 0})
	}
	slices.SortFunc(cuts, func(x, y cut) int { return cmp.Or(cmp.Compare(x.from, y.from), cmp.Compare(x.class, y.class)) })
	kept := cuts[:0]
	for _, c := range cuts { // where one symbol ends and another begins, the second cut counts
		if last := len(kept) - 1; last >= 0 && kept[last].from == c.from {
			kept[last] = c
		} else {
			kept = append(kept, c)
		}
	}
	return a.mergeClasses(a.internPartition(kept), next)
}
