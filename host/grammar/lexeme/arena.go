// SPDX-License-Identifier: MIT

package lexeme

import (
	"fmt"
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
