// SPDX-License-Identifier: MIT

package lexeme

import (
	"container/heap"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"
)

// Shortest is the number of bytes of the shortest text that completes what led to a state; -1 for
// Dead.
//
// # Errors
//   - ErrTooMuch: the state is one of intersections and complements, and finding out exceeds a
//     bound of work.
//   - ErrFull: see Start.
func (t *Automata) Shortest(s State) (int, error) {
	if s == Dead {
		return -1, nil
	}
	n := int32(0)
	err := t.bounded(func() { n = t.shortestFrom(*t.info(s)) })
	return int(n), err
}

func (t *Automata) shortestFrom(is state) int32 {
	a := t.arena
	if is.form == between {
		return a.shortest(Expr(is.what), is.decoder)
	}
	to := func(all []target, spelled int32) int32 {
		least := int32(far)
		for _, part := range all {
			if part.to != Nothing {
				least = min(least, plus(a.shortest(part.to, is.decoder), spelled))
			}
		}
		return least
	}
	if is.form == escape {
		next := t.liveDerivative(Expr(is.what))
		least := min(to(targetsOf(next, 0, firstSurrogate), 5), to(targetsOf(next, lastSurrogate+1, 1<<16-lastSurrogate-1), 5), to(targetsOf(next, 1<<16, 1<<20), 11))
		for _, r := range meant {
			least = min(least, to([]target{{0, next.after(r)}}, 1))
		}
		return least
	}
	r := t.remainders[is.what]
	switch {
	case is.form <= third:
		return to(r.near, int32(is.form))
	case is.form <= hex4:
		digits := int32(is.form-hex1) + 1
		return min(to(r.near, digits), to(r.far, digits+6))
	case is.form == pairSlash:
		return to(r.near, 6)
	case is.form == pairU:
		return to(r.near, 5)
	}
	return to(r.near, int32(is.form-pairHex1)+1)
}

// spelledLength is the fewest bytes that spell a character.
func spelledLength(r rune, d Decoder) int32 {
	switch {
	case d == JSONString && (r == '"' || r == '\\' || r >= '\b' && r <= '\r' && r != '\v'):
		return 2
	case d == JSONString && r < 0x20:
		return 6
	}
	return int32(utf8.RuneLen(r))
}

// spellingBounds are where the fewest bytes of characters change: from each to the next all take
// the same number.
var spellingBounds = []rune{0, '\b', '\v', '\f', 0x0E, 0x20, '"', '#', '\\', ']', 0x80, 0x800, 1 << 16}

// shortestSpelling is the fewest bytes any character in [low, high] needs.
func shortestSpelling(low, high rune, d Decoder) int32 {
	least := spelledLength(low, d)
	for _, r := range spellingBounds {
		if r > low && r <= high {
			least = min(least, spelledLength(r, d))
		}
	}
	return least
}

// shortest is the number of bytes of an expression's shortest text. It is valid only if the arena
// has no error afterwards.
func (a *Arena) shortest(x Expr, d Decoder) int32 {
	n := *a.at(x)
	switch {
	case n.nullable:
		return 0
	case x == Nothing:
		return far
	case n.kind == class:
		least := int32(far)
		for _, r := range a.rangesOf(x) {
			least = min(least, shortestSpelling(r.Low, r.High, d))
		}
		return least
	}
	if size, known := a.sizes[d][x]; known {
		return size
	}
	if !a.Spend(1) {
		return far
	}
	size := int32(far)
	switch n.kind {
	case sequence:
		size = plus(a.shortest(Expr(n.a), d), a.shortest(Expr(n.b), d))
	case repetition:
		size = times(a.shortest(Expr(n.a), d), n.min)
	case union:
		for _, p := range a.parts(x) {
			size = min(size, a.shortest(p, d))
		}
	default:
		return a.searchShortest(x, d)
	}
	a.keepSize(x, d, size)
	return size
}

func (a *Arena) keepSize(x Expr, d Decoder, size int32) {
	if a.err != nil {
		return
	}
	if a.sizes[d] == nil {
		a.sizes[d] = map[Expr]int32{}
	}
	a.sizes[d][x] = size
}

// candidate is a way to an expression, of which the search has a queue.
type candidate struct {
	to       Expr
	size     int32 // bytes so far
	expected int32 // the fewest bytes that the whole text may have
}

type candidates []candidate

func (p candidates) Len() int { return len(p) }
func (p candidates) Less(i, j int) bool {
	return p[i].expected < p[j].expected || p[i].expected == p[j].expected && p[i].size > p[j].size
}
func (p candidates) Swap(i, j int) { p[i], p[j] = p[j], p[i] }
func (p *candidates) Push(x any)   { *p = append(*p, x.(candidate)) }
func (p *candidates) Pop() any {
	last := len(*p) - 1
	x := (*p)[last]
	*p = (*p)[:last]
	return x
}

// searchShortest finds the shortest text of an expression whose parts do not tell it. It is an A*
// search (Hart, Nilsson and Raphael 1968) over derivatives, with lowerBound as its heuristic.
func (a *Arena) searchShortest(x Expr, d Decoder) int32 {
	best := map[Expr]int32{x: 0}
	from := map[Expr]Expr{}
	done := map[Expr]bool{}
	ahead := &candidates{{x, 0, a.lowerBound(x, d)}}
	for ahead.Len() > 0 {
		p := heap.Pop(ahead).(candidate)
		if p.to == Empty { // the end of every way
			a.keepSizesOnPath(x, from, best, p.size, d)
			return p.size
		}
		if done[p.to] {
			continue
		}
		done[p.to] = true
		if len(best) > statesPerStep {
			a.err = fmt.Errorf("%w: its shortest text was not found within %d states", ErrTooMuch, statesPerStep)
			return far
		}
		if size, known := a.knownSize(p.to, d); known {
			if size = plus(p.size, size); size < far && improves(best, Empty, size) {
				from[Empty] = p.to
				heap.Push(ahead, candidate{Empty, size, size})
			}
			continue
		}
		next := a.cheapestSteps(p.to, d)
		for _, y := range slices.Sorted(maps.Keys(next)) { // in order, so that every run does the same work
			if size := plus(p.size, next[y]); y != Nothing && improves(best, y, size) {
				from[y] = p.to
				heap.Push(ahead, candidate{y, size, plus(size, a.lowerBound(y, d))})
			}
		}
		if a.err != nil {
			return far
		}
	}
	a.keepSize(x, d, far)
	return far
}

// lowerBound is a number of bytes that no text of an expression falls below.
func (a *Arena) lowerBound(x Expr, d Decoder) int32 {
	least := a.at(x).least
	if a.at(x).kind == intersection {
		for _, p := range a.parts(x) {
			if k := a.at(p).kind; k != complement && k != intersection && k != machine && a.at(p).sure {
				least = max(least, a.shortest(p, d))
			}
		}
	}
	return least
}

// improves records a shorter way to x, and reports whether it is one.
func improves(best map[Expr]int32, x Expr, size int32) bool {
	if before, seen := best[x]; seen && before <= size {
		return false
	}
	best[x] = size
	return true
}

// knownSize is shortest where that takes no search.
func (a *Arena) knownSize(x Expr, d Decoder) (int32, bool) {
	if n := a.at(x); n.kind == complement || n.kind == intersection || n.kind == machine {
		if n.nullable {
			return 0, true
		}
		size, known := a.sizes[d][x]
		return size, known
	}
	return a.shortest(x, d), true
}

// keepSizesOnPath keeps the sizes of all expressions on the shortest way.
func (a *Arena) keepSizesOnPath(x Expr, from map[Expr]Expr, best map[Expr]int32, size int32, d Decoder) {
	for y := Empty; y != x; {
		y = from[y]
		a.keepSize(y, d, size-best[y])
	}
}

// cheapestSteps returns the expressions that one character leads to, with the fewest bytes that
// takes.
func (a *Arena) cheapestSteps(x Expr, d Decoder) map[Expr]int32 {
	next := a.derive(x)
	sizes := make(map[Expr]int32, len(next.next))
	a.Spend(len(next.cuts))
	for i, c := range next.cuts {
		high := rune(maxRune)
		if i+1 < len(next.cuts) {
			high = next.cuts[i+1].from - 1
		}
		low := c.from
		if low >= firstSurrogate && low <= lastSurrogate {
			low = lastSurrogate + 1
		}
		if low > high {
			continue
		}
		y := next.next[c.class]
		spelled := shortestSpelling(low, high, d)
		if before, seen := sizes[y]; !seen || spelled < before {
			sizes[y] = spelled
		}
	}
	return sizes
}
