// SPDX-License-Identifier: MIT

package lexeme

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
)

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
