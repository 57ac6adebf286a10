// SPDX-License-Identifier: MIT

// Package lexeme has the words of a grammar: expressions over characters, which become automata
// over bytes as texts reach their states. Intersection and complement are among what they may say.
//
// An expression's derivative by a character is the expression of what may follow it. There are
// finitely many of them, since equal ones have one number, and they are made only when a text
// leads there: so complement and intersection cost what a text uses of them. Characters are
// Unicode's scalar values: surrogates are none. Each expression divides them into few classes,
// which are one partition for all expressions that divide them alike.
//
// A decoder stands between bytes and characters. A state within a character, or within an escape
// of a JSON string, is a list of what the rest of it can still be, and where each leads. Where
// nothing is left the state is dead, and where the lists are the same it is the same state: an
// expression that takes any character has one for the first bytes of all characters of two bytes.
//
// # Bounds
//
// A state is made only if some text ends it. Whether one does is mostly told by the expression's
// parts: by how long texts can be, and by what may stand before and behind them. Otherwise
// derivatives are searched, within a bound; beyond it there is an error, and no state. All work is
// counted in steps, a part of an expression that is looked at, and every call has a bound of them.
// Automata take a bounded amount of memory; they are dropped as a whole, and Move carries states
// on to the next.
package lexeme

import (
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// Expr is an expression of an Arena: a set of texts. Equal sets that are written alike are one
// number.
type Expr int32

// Expressions of every arena.
const (
	Nothing Expr = iota // no text
	Empty               // the empty text
	Char                // any one character
	All                 // any text
)

// Unbounded is a Repeat without an upper bound.
const Unbounded = -1

// Arena makes expressions. Its methods do not run concurrently. What is beyond its bounds becomes
// an error, which Err returns: its constructors return Nothing from then on.
type Arena struct {
	parent *Arena // has the expressions below base; it must not change any more
	base   Expr
	nodes  []node
	args   []Expr  // the parts of unions and intersections
	ranges []Range // of classes
	index  index
	bound  int // of expressions, those of parent not counted
	memory int // of derivatives, in bytes
	left   int // steps that are left for this piece of work
	err    error

	// Stop is asked now and then while the arena is made: what it returns ends the work, as its
	// error. Nil: nothing does.
	Stop    func() error
	asked   int   // steps since Stop was asked last
	stopped error // what it returned

	machines []*Machine

	derived  derived
	voids    map[Expr]bool            // whether an expression has no text, where that took a search
	searches int                      // for one, which are within one another
	sizes    [decoders]map[Expr]int32 // bytes of the shortest text
}

// maxSteps is how much work the constructors of an arena may take in all, some 60 ms: a step is a
// part that one looks at. No schema of MaskBench takes more than half of it, and one in a thousand
// more than a fifth.
const maxSteps = 1 << 20

// NewArena returns one that makes at most so many expressions, derivatives among them.
func NewArena(bound int) *Arena {
	bound = max(bound, 4)
	a := &Arena{bound: bound, memory: bytesPerExpression * bound, left: maxSteps, voids: map[Expr]bool{}}
	a.add(node{kind: void})
	a.add(node{kind: empty})
	a.Class(Range{0, maxRune})
	a.repetition(Char, 0, far)
	return a
}

// fork returns an arena that begins with a's expressions and takes about so many bytes for others,
// which go with it. a must not change afterwards.
func (a *Arena) fork(memory int) *Arena {
	return &Arena{parent: a, base: Expr(a.Len()), bound: memory / (2 * perNode), memory: memory / 2, voids: map[Expr]bool{}, machines: a.machines, err: a.err}
}

// Err is what was too much.
func (a *Arena) Err() error { return a.err }

// Len is how many expressions there are.
func (a *Arena) Len() int { return int(a.base) + len(a.nodes) }

// askEvery is how many steps lie between two calls of Stop: a tenth of a millisecond.
const askEvery = 1 << 10

// Spend counts work for the arena that is done elsewhere. It reports whether the work may go on:
// Err says why not, or the error of Bounded does.
func (a *Arena) Spend(steps int) bool { return a.spend(steps) }

// Spent is how much work the making of the arena took.
func (a *Arena) Spent() int { return maxSteps - max(a.left, 0) }

// Ask has Stop asked where that is due after so many steps of work. It returns what ends the work.
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

// spend counts work.
func (a *Arena) spend(steps int) bool {
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

// Bounded runs work that may take so many steps, and no more than the arena has left. Where it
// takes more, the error is the work's alone: what its constructors returned is of no use, and the
// arena goes on.
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

// bounded is Bounded for work that is not part of making an arena.
func (a *Arena) bounded(steps int, work func()) error {
	if a.err != nil {
		return a.err
	}
	before := a.left
	a.left = steps
	work()
	err := a.err
	a.err, a.left = a.stopped, before
	if len(a.nodes) >= a.bound || a.derived.bytes > a.memory {
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

// parts are those of a union or an intersection.
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

// perNode is about how many bytes a node takes, with its entries in the index and what slices have
// to spare.
const perNode = 96

// Size is about how many bytes the arena takes.
func (a *Arena) Size() int { return a.size() }

// size is about how many bytes the arena takes, its parent's not counted.
func (a *Arena) size() int {
	return len(a.nodes)*perNode + 4*cap(a.args) + 8*cap(a.ranges) + a.derived.size() + 24*len(a.voids) + 24*(len(a.sizes[0])+len(a.sizes[1]))
}

type kind uint8

const (
	void kind = iota
	empty
	class
	sequence // a, then b; a is no sequence
	union
	intersection
	complement // of a
	repetition // of a
	machine    // number a of the arena's, in state b
)

// far is where lengths and counts end: what has as many is without bound.
const far = 1 << 30

// node is an expression.
type node struct {
	kind        kind
	nullable    bool  // the empty text is one of its texts
	sure        bool  // it surely has a text; if not, IsVoid has to look
	exact       bool  // some text has the length least, and one the length most, or there are ever longer ones
	whole       bool  // there are texts of all lengths from least to most
	front, back bool  // any text may stand before each of its texts; behind each
	a, b        int32 // what it is made of, or where that lies and how many there are
	min, max    int32 // of repetitions; max may be far
	least, most int32 // bounds of the length of its texts in characters
}

// index finds the numbers of nodes by what they are. It has them by hash, the next free place
// where one is taken.
type index struct {
	hashes []uint32 // of each node
	places []int32  // a node, counted from 1; a power of two of them, at most half of them taken
}

// secret keeps others from choosing expressions whose hashes are the same.
var secret = [2]uint64{rand.Uint64() | 1, rand.Uint64() | 1}

func mix(h uint64, x, y int32) uint64 {
	high, low := bits.Mul64(h^uint64(uint32(x))<<32^uint64(uint32(y))^secret[1], secret[0])
	return high ^ low
}

// hashOf hashes a node. One that has parts or ranges is told by these.
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

// find returns the number of a node that the arena has itself.
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

// list adds the last node.
func (x *index) list(h uint32) {
	x.hashes = append(x.hashes, h)
	if 2*len(x.hashes) <= len(x.places) {
		x.put(len(x.hashes) - 1)
		return
	}
	x.places = make([]int32, max(16, 2*len(x.places)))
	for at := range x.hashes {
		x.put(at)
	}
}

func (x *index) put(at int) {
	mask := uint32(len(x.places) - 1)
	i := x.hashes[at] & mask
	for x.places[i] != 0 {
		i = (i + 1) & mask
	}
	x.places[i] = int32(at) + 1
}

// add returns the number of a node, which parts belong to if it is a union or an intersection.
func (a *Arena) add(n node, parts ...Expr) Expr { return a.intern(n, parts, nil) }

// intern returns the number of a node, which parts or ranges belong to.
func (a *Arena) intern(n node, parts []Expr, ranges []Range) Expr {
	if !a.spend(1 + len(parts) + len(ranges)) {
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
	a.index.list(h)
	return x
}

var (
	// ErrTooMuch is for work and expressions beyond the bounds of an arena or an operation.
	ErrTooMuch = errors.New("the expression takes too much work")

	// ErrFull is for a table of states that has reached its bound: a new one has to be made.
	ErrFull = errors.New("the table of states is full")
)
