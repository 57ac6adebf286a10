// SPDX-License-Identifier: MIT

package lexeme

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// cut begins a part of the alphabet that belongs to a class of characters. A partition is a list
// of them, the first of character 0.
type cut struct {
	from  rune
	class int32
}

// derivative is an expression's by each character: next[i] by the characters of a partition's
// class i.
type derivative struct {
	cuts []cut
	next []Expr
}

// by is the derivative by one character.
func (d derivative) by(r rune) Expr {
	i, found := slices.BinarySearchFunc(d.cuts, r, func(c cut, r rune) int { return int(c.from - r) })
	if !found {
		i--
	}
	return d.next[d.cuts[i].class]
}

// bytesPerExpression is how much memory the derivatives of an arena may take, for each expression
// that it may have.
const bytesPerExpression = 512

// derived keeps derivatives. Many share a partition.
type derived struct {
	of         map[Expr]derivative
	partitions map[string][]cut
	pairs      map[[2]*cut]pair
	bytes      int // about how much memory that takes
}

func (d *derived) size() int { return d.bytes }

// one is the partition of one class.
var one = []cut{{0, 0}}

// pair is the partition that is as fine as two others: class i is of their classes of[i].
type pair struct {
	cuts []cut
	of   [][2]int32
}

// derive returns an expression's derivative. It is complete only if the arena has no error
// afterwards.
func (a *Arena) derive(x Expr) derivative {
	if d, ok := a.derived.of[x]; ok {
		return d
	}
	d := a.deriveNew(x)
	if a.err != nil || !a.spend(1+len(d.next)) {
		return derivative{one, []Expr{Nothing}}
	}
	if a.derived.of == nil {
		a.derived.of = map[Expr]derivative{}
	}
	a.derived.of[x] = d
	if a.derived.bytes += 96 + 4*len(d.next); a.derived.bytes > a.memory {
		a.err = fmt.Errorf("%w: its derivatives take more than %d bytes", ErrTooMuch, a.memory)
	}
	return d
}

func (a *Arena) deriveNew(x Expr) derivative {
	n := *a.at(x)
	switch n.kind {
	case class:
		return a.deriveClass(x)
	case machine:
		return a.deriveMachine(n.a, n.b)
	case sequence:
		d := a.mapped(a.derive(Expr(n.a)), func(y Expr) Expr { return a.then(y, Expr(n.b)) })
		if a.at(Expr(n.a)).nullable {
			return a.merged([]derivative{d, a.derive(Expr(n.b))}, a.Or)
		}
		return d
	case repetition:
		high := n.max
		if high < far {
			high--
		}
		rest := a.repetition(Expr(n.a), max(n.min, 1)-1, high)
		return a.mapped(a.derive(Expr(n.a)), func(y Expr) Expr { return a.then(y, rest) })
	case complement:
		return a.mapped(a.derive(Expr(n.a)), a.Not)
	case union, intersection:
		all := make([]derivative, 0, n.b)
		for _, p := range a.parts(x) {
			all = append(all, a.derive(p))
		}
		if n.kind == union {
			return a.merged(all, a.Or)
		}
		return a.merged(all, a.And)
	}
	return derivative{one, []Expr{Nothing}}
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
	a.spend(len(cuts))
	if len(cuts) == 1 {
		return derivative{one, []Expr{Empty}}
	}
	return derivative{a.partition(cuts), next}
}

// partition returns the one list of these cuts.
func (a *Arena) partition(cuts []cut) []cut {
	if len(cuts) == 1 {
		return one
	}
	key := make([]byte, 0, 8*len(cuts))
	for _, c := range cuts {
		key = binary.LittleEndian.AppendUint32(key, uint32(c.from))
		key = binary.LittleEndian.AppendUint32(key, uint32(c.class))
	}
	if known, ok := a.derived.partitions[string(key)]; ok {
		return known
	}
	if a.derived.partitions == nil {
		a.derived.partitions = map[string][]cut{}
	}
	cuts = slices.Clone(cuts)
	a.derived.partitions[string(key)] = cuts
	a.derived.bytes += 64 + 16*len(cuts)
	return cuts
}

// mapped applies f to what a derivative leads to.
func (a *Arena) mapped(d derivative, f func(Expr) Expr) derivative {
	next := make([]Expr, len(d.next))
	a.spend(len(next))
	for i, x := range d.next {
		next[i] = f(x)
	}
	return a.canonical(d.cuts, next)
}

// canonical joins classes that lead to the same.
func (a *Arena) canonical(cuts []cut, next []Expr) derivative {
	same := false
	for i, x := range next {
		same = same || slices.Contains(next[:i], x)
		if i > 32 {
			same = true // looking costs more than joining
		}
	}
	if !same {
		return derivative{cuts, next}
	}
	a.spend(len(cuts))
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
	return derivative{a.partition(joined), targets}
}

// merged applies f to what several derivatives lead to.
func (a *Arena) merged(all []derivative, f func(...Expr) Expr) derivative {
	if len(all) > 4 {
		return a.swept(all, f)
	}
	d := all[0]
	for _, other := range all[1:] {
		p := a.pairOf(d.cuts, other.cuts)
		next := make([]Expr, len(p.of))
		a.spend(len(next))
		for i, of := range p.of {
			next[i] = f(d.next[of[0]], other.next[of[1]])
		}
		d = a.canonical(p.cuts, next)
	}
	return d
}

// pairOf returns the partition that is as fine as two.
func (a *Arena) pairOf(x, y []cut) pair {
	key := [2]*cut{&x[0], &y[0]}
	if p, ok := a.derived.pairs[key]; ok {
		return p
	}
	var p pair
	if !a.spend(len(x) + len(y)) {
		return pair{one, [][2]int32{{0, 0}}}
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
	p.cuts = a.partition(cuts)
	if a.derived.pairs == nil {
		a.derived.pairs = map[[2]*cut]pair{}
	}
	a.derived.pairs[key] = p
	a.derived.bytes += 96 + 8*len(p.of)
	return p
}
