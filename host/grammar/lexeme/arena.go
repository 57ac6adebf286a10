// SPDX-License-Identifier: MIT

// Package lexeme has the words of a grammar: expressions over characters, with *and* and *not*, and
// automata over bytes that are made of them as texts lead there.
//
// The automata follow derivatives (Brzozowski 1964): the derivative of an expression by a character
// is the expression of what may follow it. Equal expressions have one number, so there are finitely
// many derivatives, and they are made only when a text leads there: complement and intersection
// cost only what a text uses of them. Characters are Unicode's scalar values, without surrogates.
// Each expression divides them into few classes with equal derivatives (Owens, Reppy and Turon
// 2009), and expressions that divide them alike share one partition.
//
// A decoder stands between bytes and characters. A state within a character, or within an escape of
// a JSON string, is a list of the values that the rest of it can still have, and of where each
// leads. Where nothing is left the state is dead, and where the lists are equal it is the same
// state: an expression that takes any character has one state for the first bytes of all characters
// of two bytes.
//
// # Bounds
//
// A state is made only if some text ends it. Mostly an expression's parts tell whether one does:
// how long texts can be, and what may stand before and behind them. Otherwise derivatives are
// searched, within a bound; beyond it there is an error, and no state. All work is counted in
// steps, each a part of an expression that is visited, and every call bounds them. Automata take a
// bounded amount of memory; they are dropped as a whole, and Move carries states on to the next
// ones.
package lexeme

import (
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// Expr is an expression of an Arena, by number: a set of texts. Sets that are written alike have
// one number.
type Expr int32

// Expressions of every arena.
const (
	Nothing Expr = iota // no text
	Empty               // the empty text
	Char                // any one character
	All                 // any text
)

// Unbounded is no maximum, as that of Repeat.
const Unbounded = -1

// Arena makes expressions and interns them. Its methods must not run concurrently. What exceeds its
// bounds becomes an error, which Err returns; from then on its constructors return Nothing.
type Arena struct {
	parent *Arena // has the expressions below base, and must not change any more; nil: none
	base   Expr
	nodes  []node
	args   []Expr  // the parts of unions and intersections
	ranges []Range // of classes
	index  index
	bound  int // of expressions, without the parent's
	memory int // bound of the derivatives, in bytes
	left   int // steps that are left for the present piece of work
	err    error

	// Stop is called now and then while the arena is made. An error that it returns ends the work
	// and becomes the arena's. It may be nil.
	Stop    func() error
	asked   int   // steps since the last call of Stop
	stopped error // what it returned

	machines []*Machine

	derivatives derivatives
	voids       map[Expr]bool            // whether an expression has no text, where finding out took a search
	searches    int                      // that run now, within one another
	sizes       [decoders]map[Expr]int32 // bytes of the shortest text
}

// maxSteps bounds the work of an arena's constructors in all, some 60 ms: a step is a part of an
// expression that one visits. No schema of MaskBench takes more than half of it, and one in a
// thousand more than a fifth.
const maxSteps = 1 << 20

// NewArena returns an arena of at most bound expressions, derivatives included.
func NewArena(bound int) *Arena {
	bound = max(bound, 4)
	a := &Arena{bound: bound, memory: bytesPerExpression * bound, left: maxSteps, voids: map[Expr]bool{}}
	a.add(node{kind: void})
	a.add(node{kind: empty})
	a.Class(Range{0, maxRune})
	a.repetition(Char, 0, far)
	return a
}

// fork returns an arena that begins with a's expressions and takes about memory bytes for more,
// which are dropped with it. a must not change afterwards.
func (a *Arena) fork(memory int) *Arena {
	return &Arena{parent: a, base: Expr(a.Len()), bound: memory / (2 * perNode), memory: memory / 2, voids: map[Expr]bool{}, machines: a.machines, err: a.err}
}

// Err says which bound was exceeded.
func (a *Arena) Err() error { return a.err }

// Len is the number of expressions.
func (a *Arena) Len() int { return int(a.base) + len(a.nodes) }

// askEvery is the number of steps between two calls of Stop: a tenth of a millisecond.
const askEvery = 1 << 10

// Spent is the work that making the arena took.
func (a *Arena) Spent() int { return maxSteps - max(a.left, 0) }

// Ask counts steps of work, and calls Stop where that is due. It returns the error that ends the
// work.
func (a *Arena) Ask(steps int) error {
	if a.Stop == nil || a.stopped != nil {
		return a.stopped
	}
	if a.asked += steps; a.asked >= askEvery {
		if a.asked, a.stopped = 0, a.Stop(); a.stopped != nil {
			a.err = a.stopped
		}
	}
	return a.stopped
}

// Spend counts work for the arena, and reports whether it may go on; if not, Err or the error of
// Bounded says why.
func (a *Arena) Spend(steps int) bool {
	if a.err != nil {
		return false
	}
	if a.Ask(steps) != nil {
		return false
	}
	if a.left -= steps; a.left < 0 {
		a.err = fmt.Errorf("%w: too many steps", ErrTooMuch)
		return false
	}
	return true
}

// Bounded runs work within at most steps, and no more than the arena has left. If it takes more,
// only the work fails: what its constructors returned is of no use, and the arena goes on.
func (a *Arena) Bounded(steps int, work func()) error {
	before := a.left
	steps = min(steps, before)
	after := steps
	err := a.bounded(steps, func() {
		work()
		after = max(a.left, 0)
	})
	a.left = before - (steps - after)
	return err
}

// bounded is Bounded for work that is not part of making the arena.
func (a *Arena) bounded(steps int, work func()) error {
	if a.err != nil {
		return a.err
	}
	before := a.left
	a.left = steps
	work()
	err := a.err
	a.err, a.left = a.stopped, before
	if len(a.nodes) >= a.bound || a.derivatives.bytes > a.memory {
		a.err = err
	}
	return err
}

func (a *Arena) at(x Expr) *node {
	if x < a.base {
		return &a.parent.nodes[x]
	}
	return &a.nodes[x-a.base]
}

// parts returns the parts of a union or an intersection.
func (a *Arena) parts(x Expr) []Expr {
	n := a.at(x)
	if x < a.base {
		return a.parent.args[n.a : n.a+n.b]
	}
	return a.args[n.a : n.a+n.b]
}

func (a *Arena) rangesOf(x Expr) []Range {
	n := a.at(x)
	if x < a.base {
		return a.parent.ranges[n.a : n.a+n.b]
	}
	return a.ranges[n.a : n.a+n.b]
}

// perNode is about how many bytes a node takes, including its entries in the index and the slices'
// spare room.
const perNode = 96

// Size estimates the bytes that the arena takes, without its parent.
func (a *Arena) Size() int {
	return len(a.nodes)*perNode + 4*cap(a.args) + 8*cap(a.ranges) + a.derivatives.bytes + 24*len(a.voids) + 24*(len(a.sizes[0])+len(a.sizes[1]))
}

type kind uint8

const (
	void kind = iota
	empty
	class
	sequence // a, then b; a is not a sequence itself
	union
	intersection
	complement // of a
	repetition // of a
	machine    // number a of the arena's machines, from state b
)

// far is where lengths and counts are cut off: it stands for no bound.
const far = 1 << 30

// node is an expression.
type node struct {
	kind        kind
	nullable    bool  // the empty text is one of its texts
	sure        bool  // it surely has a text; if false, IsVoid has to search
	exact       bool  // least and most are lengths of texts (or there are ever longer ones), not only bounds
	whole       bool  // there is a text of every length from least to most
	front, back bool  // any text may be put before each of its texts; behind each
	a, b        int32 // its parts; or the index of its parts or ranges, and their number
	min, max    int32 // of repetitions; max may be far
	least, most int32 // bounds of its texts' lengths, in characters
}

// index finds nodes by value. It is a hash table with open addressing and linear probing.
type index struct {
	hashes []uint32 // of each node
	places []int32  // numbers of nodes, from 1; 0: free. A power of two of them, at most half of them taken
}

// secret keeps clients from choosing expressions with equal hashes.
var secret = [2]uint64{rand.Uint64() | 1, rand.Uint64() | 1}

func mix(h uint64, x, y int32) uint64 {
	high, low := bits.Mul64(h^uint64(uint32(x))<<32^uint64(uint32(y))^secret[1], secret[0])
	return high ^ low
}

// hashOf hashes a node. Its parts or ranges, if it has some, stand for a and b.
func hashOf(n *node, parts []Expr, ranges []Range) uint32 {
	h := mix(uint64(n.kind)*secret[1], int32(len(parts)), int32(len(ranges)))
	if parts == nil && ranges == nil {
		h = mix(mix(h, n.a, n.b), n.min, n.max)
	}
	for _, p := range parts {
		h = mix(h, int32(p), 0)
	}
	for _, r := range ranges {
		h = mix(h, r.Low, r.High)
	}
	return uint32(h)
}

// find returns the number of a node of this arena, not of its parent.
func (a *Arena) find(h uint32, n *node, parts []Expr, ranges []Range) (Expr, bool) {
	if len(a.index.places) == 0 {
		return Nothing, false
	}
	mask := uint32(len(a.index.places) - 1)
	for i := h & mask; ; i = (i + 1) & mask {
		at := a.index.places[i] - 1
		if at < 0 {
			return Nothing, false
		}
		if a.index.hashes[at] != h || a.nodes[at].kind != n.kind {
			continue
		}
		same := &a.nodes[at]
		switch {
		case parts != nil:
			if slices.Equal(a.args[same.a:same.a+same.b], parts) {
				return a.base + Expr(at), true
			}
		case ranges != nil:
			if slices.Equal(a.ranges[same.a:same.a+same.b], ranges) {
				return a.base + Expr(at), true
			}
		case same.a == n.a && same.b == n.b && same.min == n.min && same.max == n.max:
			return a.base + Expr(at), true
		}
	}
}

// add adds the last node.
func (x *index) add(h uint32) {
	x.hashes = append(x.hashes, h)
	if 2*len(x.hashes) <= len(x.places) {
		x.place(len(x.hashes) - 1)
		return
	}
	x.places = make([]int32, max(16, 2*len(x.places)))
	for at := range x.hashes {
		x.place(at)
	}
}

func (x *index) place(at int) {
	mask := uint32(len(x.places) - 1)
	i := x.hashes[at] & mask
	for x.places[i] != 0 {
		i = (i + 1) & mask
	}
	x.places[i] = int32(at) + 1
}

// add interns a node. parts are those of a union or an intersection.
func (a *Arena) add(n node, parts ...Expr) Expr { return a.intern(n, parts, nil) }

// intern returns the number of a node with its parts or ranges. Equal nodes have one number (hash
// consing), so that there are finitely many derivatives.
func (a *Arena) intern(n node, parts []Expr, ranges []Range) Expr {
	if !a.Spend(1 + len(parts) + len(ranges)) {
		return Nothing
	}
	h := hashOf(&n, parts, ranges)
	if a.parent != nil {
		if x, ok := a.parent.find(h, &n, parts, ranges); ok && x < a.base {
			return x
		}
	}
	if x, ok := a.find(h, &n, parts, ranges); ok {
		return x
	}
	if len(a.nodes) >= a.bound {
		a.err = fmt.Errorf("%w: more than %d expressions", ErrTooMuch, a.bound)
		return Nothing
	}
	if parts != nil {
		n.a, n.b = int32(len(a.args)), int32(len(parts))
		a.args = append(a.args, parts...)
	}
	if ranges != nil {
		n.a, n.b = int32(len(a.ranges)), int32(len(ranges))
		a.ranges = append(a.ranges, ranges...)
	}
	a.measure(&n, parts)
	x := Expr(a.Len())
	a.nodes = append(a.nodes, n)
	a.index.add(h)
	return x
}

var (
	// ErrTooMuch is the error of work and expressions beyond the bounds of an arena or an
	// operation.
	ErrTooMuch = errors.New("the expression takes too much work")

	// ErrFull is the error of a table of states that has reached its bound: a new one has to be
	// made.
	ErrFull = errors.New("the table of states is full")
)
