// SPDX-License-Identifier: MIT

package lexeme

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
)

// cut begins an interval of characters that belong to one class. A partition of the alphabet is a
// list of cuts, the first at character 0.
type cut struct {
	from  rune
	class int32
}

// derivative has an expression's derivatives by all characters: next[i] by those of class i of a
// partition.
type derivative struct {
	cuts []cut
	next []Expr
}

// after is the derivative by one character.
func (d derivative) after(r rune) Expr {
	i, found := slices.BinarySearchFunc(d.cuts, r, func(c cut, r rune) int { return int(c.from - r) })
	if !found {
		i--
	}
	return d.next[d.cuts[i].class]
}

// bytesPerExpression is how much memory an arena's derivatives may take, for each expression that
// it may have.
const bytesPerExpression = 512

// derivatives keeps derivatives and their partitions. Many share one.
type derivatives struct {
	byExpr      map[Expr]derivative
	partitions  map[string][]cut
	refinements map[[2]*cut]refinement
	bytes       int // about what all this takes
}

// whole is the partition with a single class.
var whole = []cut{{0, 0}}

// refinement is the coarsest partition that is as fine as two others: its class i lies in their
// classes of[i].
type refinement struct {
	cuts []cut
	of   [][2]int32
}

// derive returns an expression's derivatives (Brzozowski 1964), by classes of characters as Owens,
// Reppy and Turon propose (2009). They are valid only if the arena has no error afterwards.
func (a *Arena) derive(x Expr) derivative {
	if d, ok := a.derivatives.byExpr[x]; ok {
		return d
	}
	d := a.computeDerivative(x)
	if a.err != nil || !a.Spend(1+len(d.next)) {
		return derivative{whole, []Expr{Nothing}}
	}
	if a.derivatives.byExpr == nil {
		a.derivatives.byExpr = map[Expr]derivative{}
	}
	a.derivatives.byExpr[x] = d
	if a.derivatives.bytes += 96 + 4*len(d.next); a.derivatives.bytes > a.memory {
		a.err = fmt.Errorf("%w: its derivatives take more than %d bytes", ErrTooMuch, a.memory)
	}
	return d
}

func (a *Arena) computeDerivative(x Expr) derivative {
	n := *a.at(x)
	switch n.kind {
	case class:
		return a.deriveClass(x)
	case machine:
		return a.deriveMachine(n.a, n.b)
	case sequence:
		d := a.mapNext(a.derive(Expr(n.a)), func(y Expr) Expr { return a.then(y, Expr(n.b)) })
		if a.at(Expr(n.a)).nullable {
			return a.combine([]derivative{d, a.derive(Expr(n.b))}, a.Or)
		}
		return d
	case repetition:
		high := n.max
		if high < far {
			high--
		}
		rest := a.repetition(Expr(n.a), max(n.min, 1)-1, high)
		return a.mapNext(a.derive(Expr(n.a)), func(y Expr) Expr { return a.then(y, rest) })
	case complement:
		return a.mapNext(a.derive(Expr(n.a)), a.Not)
	case union, intersection:
		all := make([]derivative, 0, n.b)
		for _, p := range a.parts(x) {
			all = append(all, a.derive(p))
		}
		if n.kind == union {
			return a.combine(all, a.Or)
		}
		return a.combine(all, a.And)
	}
	return derivative{whole, []Expr{Nothing}}
}

func (a *Arena) deriveClass(x Expr) derivative {
	ranges := a.rangesOf(x)
	var cuts []cut
	in, out := int32(1), int32(0)
	next := []Expr{Nothing, Empty}
	if ranges[0].Low == 0 {
		in, out, next = 0, 1, []Expr{Empty, Nothing}
	} else {
		cuts = append(cuts, cut{0, out})
	}
	for i, r := range ranges {
		if i == 0 || r.Low != lastSurrogate+1 || ranges[i-1].High != firstSurrogate-1 { // surrogates never come
			cuts = append(cuts, cut{r.Low, in})
		}
		if r.High < maxRune && (r.High != firstSurrogate-1 || i+1 == len(ranges) || ranges[i+1].Low != lastSurrogate+1) {
			cuts = append(cuts, cut{r.High + 1, out})
		}
	}
	a.Spend(len(cuts))
	if len(cuts) == 1 {
		return derivative{whole, []Expr{Empty}}
	}
	return derivative{a.internPartition(cuts), next}
}

// internPartition returns the one copy of a partition.
func (a *Arena) internPartition(cuts []cut) []cut {
	if len(cuts) == 1 {
		return whole
	}
	key := make([]byte, 0, 8*len(cuts))
	for _, c := range cuts {
		key = binary.LittleEndian.AppendUint32(key, uint32(c.from))
		key = binary.LittleEndian.AppendUint32(key, uint32(c.class))
	}
	if known, ok := a.derivatives.partitions[string(key)]; ok {
		return known
	}
	if a.derivatives.partitions == nil {
		a.derivatives.partitions = map[string][]cut{}
	}
	cuts = slices.Clone(cuts)
	a.derivatives.partitions[string(key)] = cuts
	a.derivatives.bytes += 64 + 16*len(cuts)
	return cuts
}

// mapNext applies f to all that a derivative leads to.
func (a *Arena) mapNext(d derivative, f func(Expr) Expr) derivative {
	next := make([]Expr, len(d.next))
	a.Spend(len(next))
	for i, x := range d.next {
		next[i] = f(x)
	}
	return a.mergeClasses(d.cuts, next)
}

// mergeClasses joins the classes that lead to the same.
func (a *Arena) mergeClasses(cuts []cut, next []Expr) derivative {
	same := false
	for i, x := range next {
		same = same || slices.Contains(next[:i], x)
		if i > 32 {
			same = true // comparing costs more than joining
		}
	}
	if !same {
		return derivative{cuts, next}
	}
	a.Spend(len(cuts))
	number := map[Expr]int32{}
	var joined []cut
	var targets []Expr
	for _, c := range cuts {
		x := next[c.class]
		i, known := number[x]
		if !known {
			i = int32(len(targets))
			number[x], targets = i, append(targets, x)
		}
		if last := len(joined) - 1; last < 0 || joined[last].class != i {
			joined = append(joined, cut{c.from, i})
		}
	}
	return derivative{a.internPartition(joined), targets}
}

// combine applies f to what several derivatives lead to, character by character.
func (a *Arena) combine(all []derivative, f func(...Expr) Expr) derivative {
	if len(all) > 4 {
		return a.combineBySweep(all, f)
	}
	d := all[0]
	for _, other := range all[1:] {
		p := a.refine(d.cuts, other.cuts)
		next := make([]Expr, len(p.of))
		a.Spend(len(next))
		for i, of := range p.of {
			next[i] = f(d.next[of[0]], other.next[of[1]])
		}
		d = a.mergeClasses(p.cuts, next)
	}
	return d
}

// refine returns the partition that is as fine as two.
func (a *Arena) refine(x, y []cut) refinement {
	key := [2]*cut{&x[0], &y[0]}
	if p, ok := a.derivatives.refinements[key]; ok {
		return p
	}
	var p refinement
	if !a.Spend(len(x) + len(y)) {
		return refinement{whole, [][2]int32{{0, 0}}}
	}
	number := map[[2]int32]int32{}
	var cuts []cut
	for i, j := 0, 0; ; {
		of := [2]int32{x[i].class, y[j].class}
		n, known := number[of]
		if !known {
			n = int32(len(p.of))
			number[of], p.of = n, append(p.of, of)
		}
		if last := len(cuts) - 1; last < 0 || cuts[last].class != n {
			cuts = append(cuts, cut{max(x[i].from, y[j].from), n})
		}
		nextX, nextY := rune(maxRune+1), rune(maxRune+1)
		if i+1 < len(x) {
			nextX = x[i+1].from
		}
		if j+1 < len(y) {
			nextY = y[j+1].from
		}
		if nextX > maxRune && nextY > maxRune {
			break
		}
		if nextX <= nextY {
			i++
		}
		if nextY <= nextX {
			j++
		}
	}
	p.cuts = a.internPartition(cuts)
	if a.derivatives.refinements == nil {
		a.derivatives.refinements = map[[2]*cut]refinement{}
	}
	a.derivatives.refinements[key] = p
	a.derivatives.bytes += 96 + 8*len(p.of)
	return p
}

// change is where one of several derivatives enters another class.
type change struct {
	from rune
	of   int32
	to   Expr
}

// combineBySweep is combine for many derivatives: it sweeps over the alphabet once, and looks only
// at those that lead somewhere.
func (a *Arena) combineBySweep(all []derivative, f func(...Expr) Expr) derivative {
	var changes []change
	for i, d := range all {
		for _, c := range d.cuts {
			changes = append(changes, change{c.from, int32(i), d.next[c.class]})
		}
	}
	if !a.Spend(len(changes)) {
		return derivative{whole, []Expr{Nothing}}
	}
	slices.SortFunc(changes, func(x, y change) int { return cmp.Or(cmp.Compare(x.from, y.from), cmp.Compare(x.of, y.of)) })
	s := sweep{now: make([]Expr, len(all)), place: make([]int32, len(all)), known: map[string]int32{}}
	var cuts []cut
	for i := 0; i < len(changes); {
		from := changes[i].from
		for ; i < len(changes) && changes[i].from == from; i++ {
			s.set(changes[i].of, changes[i].to)
		}
		if !a.Spend(1 + len(s.active)) {
			return derivative{whole, []Expr{Nothing}}
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
	return a.mergeClasses(a.internPartition(cuts), next)
}

// sweep is where all derivatives lead at the present character.
type sweep struct {
	now     []Expr
	place   []int32 // by derivative: its index in active
	active  []int32 // the derivatives that lead somewhere
	known   map[string]int32
	classes [][]Expr // by class: what the derivatives lead to, with one Nothing if some lead nowhere
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

// class returns the number of the set of expressions that the derivatives, in all of them, lead to
// now.
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

// stepsPerCharacter bounds the work for one character of a text.
const stepsPerCharacter = 200_000

// Match reports whether text is one of x's. Its work counts as making the arena.
func (a *Arena) Match(x Expr, text string) (bool, error) {
	for _, r := range text {
		var err error
		if x, err = a.deriveBy(x, r); err != nil {
			return false, err
		}
		if x == Nothing {
			return false, nil
		}
	}
	return a.Nullable(x), nil
}

// deriveBy is what may follow character r in x's texts. A surrogate is not a character.
func (a *Arena) deriveBy(x Expr, r rune) (Expr, error) {
	if r < 0 || r > maxRune || r >= firstSurrogate && r <= lastSurrogate {
		return Nothing, nil
	}
	var d derivative
	err := a.Bounded(stepsPerCharacter, func() {
		a.Spend(1)
		d = a.derive(x)
	})
	if err != nil {
		return Nothing, err
	}
	return d.after(r), nil
}

// Nullable reports whether the empty text is one of x's.
func (a *Arena) Nullable(x Expr) bool { return a.at(x).nullable }

// Lengths returns bounds of the number of characters in x's texts, which may not be tight. high is
// Unbounded where there is none.
func (a *Arena) Lengths(x Expr) (low, high int) {
	n := a.at(x)
	if n.most >= far {
		return int(n.least), Unbounded
	}
	return int(n.least), int(n.most)
}
