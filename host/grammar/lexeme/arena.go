// SPDX-License-Identifier: MIT

package lexeme

import (
	"fmt"
)

// Expr is an expression of an Arena: a set of texts. Equal sets that are written alike are one number.
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

// Arena makes expressions. Its methods do not run concurrently. What is beyond its bounds becomes an error, which Err returns: its
// constructors return Nothing from then on.
type Arena struct {
	parent *Arena // has the expressions below base; it must not change any more
	base   Expr
	nodes  []node
	args   []Expr  // the parts of unions and intersections
	ranges []Range // of classes
	index  index
	bound  int // of expressions, those of parent not counted
	memory int // of derivatives, in bytes
	left   int // steps that the work at hand may still take
	err    error

	machines []*Machine

	derived  derived
	voids    map[Expr]bool            // whether an expression has no text, where that took a search
	searches int                      // for one, which are within one another
	sizes    [decoders]map[Expr]int32 // bytes of the shortest text
}

// stepsPerExpression is how much work making the expressions of an arena may take, for each that it may have.
const stepsPerExpression = 64

// NewArena returns one that makes at most so many expressions, derivatives among them.
func NewArena(bound int) *Arena {
	bound = max(bound, 4)
	a := &Arena{bound: bound, memory: bytesPerExpression * bound, left: stepsPerExpression * max(bound, 1000), voids: map[Expr]bool{}}
	a.add(node{kind: void})
	a.add(node{kind: empty})
	a.Class(Range{0, maxRune})
	a.repetition(Char, 0, far)
	return a
}

// fork returns an arena that begins with a's expressions and takes about so many bytes for others, which go with it. a must not
// change afterwards.
func (a *Arena) fork(memory int) *Arena {
	return &Arena{parent: a, base: Expr(a.Len()), bound: memory / (2 * perNode), memory: memory / 2, voids: map[Expr]bool{}, machines: a.machines, err: a.err}
}

// Err is what was too much.
func (a *Arena) Err() error { return a.err }

// Len is how many expressions there are.
func (a *Arena) Len() int { return int(a.base) + len(a.nodes) }

// Limit lets constructors take so many steps from now on, and no more: a step is a part that one looks at, some 50 ns of work. Without
// it there are 64 for each expression of the arena's bound.
func (a *Arena) Limit(steps int) { a.left = steps }

// Left is how many steps constructors may still take.
func (a *Arena) Left() int { return max(a.left, 0) }

// spend counts work.
func (a *Arena) spend(steps int) bool {
	if a.err != nil {
		return false
	}
	if a.left -= steps; a.left < 0 {
		a.err = fmt.Errorf("%w: too many steps", ErrTooMuch)
		return false
	}
	return true
}

// bounded runs work that may take so many steps. Where it takes more, its error is the work's alone and the arena stays usable.
func (a *Arena) bounded(steps int, work func()) error {
	if a.err != nil {
		return a.err
	}
	before := a.left
	a.left = steps
	work()
	err := a.err
	a.err, a.left = nil, before-(steps-max(a.left, 0))
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

// perNode is about how many bytes a node takes, with its entries in the index and what slices have to spare.
const perNode = 96

// size is about how many bytes the arena takes, its parent's not counted.
func (a *Arena) size() int {
	return len(a.nodes)*perNode + 4*cap(a.args) + 8*cap(a.ranges) + a.derived.size() + 24*len(a.voids) + 24*(len(a.sizes[0])+len(a.sizes[1]))
}
